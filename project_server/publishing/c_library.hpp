// Versions of glibc: which one the files of an app version need, and which one a host has. An app
// version carries all its libraries but those of glibc.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dedloc::server {

/// A version of glibc, such as 2.36.
struct CLibrary {
    std::int64_t major = 0;  ///< below 1,000
    std::int64_t minor = 0;  ///< below 1,000
    auto operator<=>(const CLibrary&) const = default;
    /// Such as "2.36".
    std::string text() const;
};

/// The version that a client reports in its os_version, such as
/// "Debian GNU/Linux 12 (bookworm) [6.1.0-13-amd64|libc 2.36]"; nothing if it reports none.
std::optional<CLibrary> c_library_of_host(std::string_view os_version);

/// The version that is needed by the program and the libraries that `ldd -v` lists, other than
/// those of glibc itself; nothing if there is none.
std::optional<CLibrary> needed_c_library(std::string_view ldd_output);

}  // namespace dedloc::server
