// PROJECT/dedloc/install.json: what `dedloc install` has added to an official project, and how the
// project was before. It is written before anything else is changed and deleted last, so an
// installation or a removal that was killed goes on where it stopped.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace dedloc::official {

/// The file's contents. Paths are relative to the project.
struct Manifest {
    /// Files that were absent or empty of our elements before and are deleted with our last one.
    std::set<std::string> created{};
    /// Elements of config.xml that had no content before: their text, empty if they were absent.
    std::map<std::string, std::string> empty_elements{};
    /// Entries that the project did not have: "plan class NAME", "limit APP".
    std::set<std::string> added{};
    /// BLAKE2b digests of everything that was ever written to a file whose contents an
    /// administrator may edit, in hex.
    std::map<std::string, std::set<std::string>> written{};
    std::string schema{};  ///< BLAKE2b digest of the schema that the database has, in hex
    bool operator==(const Manifest&) const = default;
};

/// The digest of a text, in hex.
std::string digest_of(const std::string& text);

/// Reads PROJECT/dedloc/install.json; nothing if there is none. Errors: InputError.
std::optional<Manifest> read_manifest(const std::filesystem::path& project);
/// Writes it. Errors: IoError.
void write_manifest(const std::filesystem::path& project, const Manifest& manifest);
/// Path of the file.
std::filesystem::path manifest_file(const std::filesystem::path& project);

}  // namespace dedloc::official
