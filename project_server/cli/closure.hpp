// What a program needs to run on a stranger's machine: itself and its shared libraries.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dedloc::cli {

struct Needed {
    std::string name;            ///< what the loader looks for, e.g. libc10.so
    std::filesystem::path file;  ///< where it lies here
    bool operator==(const Needed&) const = default;
};

/// The shared libraries `program` loads, directly or not, ordered by name; without the C library's
/// own (libc, libm, the loader, …), which must come from the system that the kernel and the loader
/// belong to. Errors   InputError when `program` is missing or no dynamic program, or a library of
/// it is not found.
std::vector<Needed> library_closure(const std::filesystem::path& program);

/// The lines of `ldd` as the closure. Separate for tests. Errors: InputError naming a library that
/// was not found.
std::vector<Needed> parse_ldd(const std::string& lines);

}  // namespace dedloc::cli
