// All files of an app version: a launcher, the program, its libraries, glibc, and the licences.
// They need nothing of the volunteer's system but its kernel.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "project_server/publishing/app_version.hpp"

namespace dedloc::packaging {

/// The files of an app version.
struct Package {
    std::string program;                            ///< the program's name
    std::vector<server::AppFile> files{};           ///< the launcher is the main program
    std::optional<server::KernelVersion> kernel{};  ///< the oldest Linux that runs them
    std::string bill{};                             ///< the bill of materials
    std::vector<std::string> unknown{};             ///< files of unknown origin and licence

    /// Sizes in bytes: all files, and those that this project builds.
    std::uintmax_t bytes() const;
    std::uintmax_t own_bytes() const;
};

/// Gathers the files of `program`, and of `further` files that it opens by itself, each with the
/// shared libraries that it is linked with. `dedloc_launcher` is that beside the program, or else
/// beside this process's. Files that are made for the version are written to `folder`.
///
/// Errors  InputError (no such file, not dynamically linked, a library or the launcher is absent,
///         two files of one name), IoError
Package make_package(const std::filesystem::path& program,
                     const std::vector<std::filesystem::path>& further,
                     const std::filesystem::path& folder);

/// Puts the package into an empty or absent folder: each file under the name that programs open,
/// and the bill of materials. The launcher runs the program there. Errors: InputError (the folder
/// is not empty), IoError.
void write_package(const Package& package, const std::filesystem::path& folder);

/// The package that write_package() has put there. Errors: InputError (none is there), IoError.
Package read_package(const std::filesystem::path& folder);

}  // namespace dedloc::packaging
