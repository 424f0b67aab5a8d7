// Versions of the Linux kernel: which one the programs of an app version need, and which one a host
// has. An app version carries all that is above the kernel, glibc too.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dedloc::server {

/// A version of Linux, such as 5.10.
struct KernelVersion {
    std::int64_t major = 0;  ///< below 1,000
    std::int64_t minor = 0;  ///< below 1,000
    auto operator<=>(const KernelVersion&) const = default;
    /// Such as "5.10".
    std::string text() const;
};

/// The version that a client on Linux reports in its os_version, such as
/// "Debian GNU/Linux 12 (bookworm) [6.1.0-13-amd64|libc 2.36]"; nothing if it reports none.
std::optional<KernelVersion> kernel_of_host(std::string_view os_version);

/// The version in the note NT_GNU_ABI_TAG of an ELF file for x86-64; nothing if it has none, as
/// most libraries. glibc's startup code and its loader refuse older kernels. `begin`: the first
/// bytes of the file.
std::optional<KernelVersion> needed_kernel(std::string_view begin);

}  // namespace dedloc::server
