// The shared libraries that a program needs on a volunteer's machine.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "project_server/publishing/c_library.hpp"

namespace dedloc::cli {

/// One shared library of a program.
struct Needed {
    std::string name;            ///< name that the loader looks for, e.g. libc10.so
    std::filesystem::path file;  ///< its path on this machine
    bool operator==(const Needed&) const = default;
};

/// The shared libraries that `program` loads, directly or indirectly, ordered by name. Leaves out
/// those of the C library (libc, libm, the loader, …), which must match the volunteer's system.
/// Errors: InputError when `program` is missing or not dynamically linked, or when one of its
/// libraries is not found.
std::vector<Needed> library_closure(const std::filesystem::path& program);

/// The oldest glibc with which the loader accepts these files and their libraries; nothing if they
/// need no version. Errors: InputError, as library_closure.
std::optional<server::CLibrary> needed_c_library(const std::vector<std::filesystem::path>& files);

/// Parses the output of `ldd`; separate for tests. Errors: InputError that names the library that
/// was not found.
std::vector<Needed> parse_ldd(const std::string& lines);

}  // namespace dedloc::cli
