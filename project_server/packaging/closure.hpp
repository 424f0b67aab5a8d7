// The shared libraries that a program needs on a volunteer's machine.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dedloc::packaging {

/// One shared library of a program.
struct Needed {
    std::string name;            ///< name that the loader looks for, e.g. libc10.so
    std::filesystem::path file;  ///< its path on this machine
    bool operator==(const Needed&) const = default;
};

/// The shared libraries that `program` loads, directly or indirectly, ordered by name. Leaves out
/// glibc's and those of NVIDIA's driver, which each volunteer's machine has of its own.
/// Errors: InputError when `program` is missing or not dynamically linked, or when one of its
/// libraries is not found.
std::vector<Needed> library_closure(const std::filesystem::path& program);

/// glibc as `program` has it here: its loader, and all of its libraries, also those that this
/// program does not need. A driver of the volunteer's may need them, and the parts of two versions
/// do not work with each other. Errors: InputError, as library_closure.
std::vector<Needed> c_library(const std::filesystem::path& program);

/// Parses the output of `ldd`; separate for tests. Errors: InputError that names the library that
/// was not found.
std::vector<Needed> parse_ldd(const std::string& lines);

}  // namespace dedloc::packaging
