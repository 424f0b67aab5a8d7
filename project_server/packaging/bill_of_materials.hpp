// What an app version consists of, for those who download it: a bill of materials in CycloneDX's
// JSON, and the texts of all licences.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "project_server/packaging/origin.hpp"

namespace dedloc::packaging {

/// One file of an app version.
struct Item {
    std::string name;            ///< as programs open it
    std::filesystem::path file;  ///< its path on this machine
};

/// What is in an app version.
struct Contents {
    std::string program;                                ///< the version's own program
    std::vector<Item> items;                            ///< all files
    std::map<std::filesystem::path, Origin> origins{};  ///< origins of the files, where known
    std::vector<Origin> compiled_in{};                  ///< libraries in the code of own programs
    std::vector<Origin> all_origins() const;            ///< each once, ordered by name
};

/// CycloneDX 1.5: a component for each origin, with its licence, and in it the version's files that
/// are its, with their SHA-256. `now`: such as 2030-01-31T12:00:00Z. Errors: IoError.
std::string bill_of_materials(const Contents& contents, std::string_view now);

/// The text of every licence: of each origin, then the common ones that those name.
/// Errors: IoError.
std::string licence_texts(const Contents& contents);

}  // namespace dedloc::packaging
