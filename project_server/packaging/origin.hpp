// The origin of each file of an app version: its Debian package, Python wheel or program of ours,
// with version and licence.
#pragma once

#include <compare>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace dedloc::packaging {

/// A work that is in an app version.
struct Origin {
    std::string name{};      ///< the package, such as libcurl4
    std::string version{};   ///< such as 7.88.1-10+deb12u12
    std::string supplier{};  ///< such as Debian
    std::string address{};   ///< package URL, as bills of materials have it; empty: none
    /// Names of its licences as its authors write them, such as "LGPL-2.1+, MIT"; empty: see text.
    std::string licences{};
    std::string text{};  ///< the licences themselves, or what names the common ones
    auto operator<=>(const Origin&) const = default;
};

/// The origin of each file that has a known one. Files of Debian's packages are found in dpkg's
/// database, those of an unpacked wheel by its folder *.dist-info above them. `own` are programs of
/// this project. Errors: IoError (a licence cannot be read).
std::map<std::filesystem::path, Origin> origins_of(const std::vector<std::filesystem::path>& files,
                                                   const std::vector<std::filesystem::path>& own);

/// Libraries whose code is compiled into this project's programs, as far as this machine has them.
/// Errors: IoError.
std::vector<Origin> compiled_in();

/// The texts of the common licences that Debian's packages name instead of repeating them, by
/// name: those that `texts` refer to. Errors: IoError.
std::map<std::string, std::string> common_licences(const std::vector<std::string>& texts);

}  // namespace dedloc::packaging
