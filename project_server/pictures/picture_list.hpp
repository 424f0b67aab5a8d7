// The files of a folder of pictures, in the order in which they are built into shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dedloc::pictures {

/// All regular files below a folder, in a random order that depends on the seed and their names
/// alone, so that each shard has pictures of all classes. A class is a sub-folder, with all that is
/// below it; files of the folder itself have none. Names that begin with a dot are left out, and
/// links to folders are not followed.
///
/// Memory  about 24 bytes and the name for each file
class PictureList final {
  public:
    /// Lists the folder. Errors: InputError: it or one below it cannot be listed, a class has a
    /// name that formats::is_class_name() refuses, or there are too many classes.
    PictureList(const std::filesystem::path& folder, std::uint64_t seed);

    /// Number of files.
    std::size_t size() const { return entries_.size(); }
    /// Path of a file below the folder. Requires index < size().
    std::string_view name(std::size_t index) const;
    /// The same with the folder. Requires index < size().
    std::filesystem::path path(std::size_t index) const;
    /// Index into classes(), or formats::kNoClass. Requires index < size().
    std::uint16_t label(std::size_t index) const;
    /// Names of the classes, ascending.
    const std::vector<std::string>& classes() const { return classes_; }
    /// Bytes of all files.
    std::uint64_t byte_count() const { return bytes_; }
    /// Changes when a file comes, goes, or has another size or time.
    std::uint64_t fingerprint() const { return fingerprint_; }

  private:
    struct Entry {
        std::uint64_t key;    ///< their order
        std::uint64_t begin;  ///< where the name is in names_
        std::uint64_t size;   ///< bytes of the name
    };
    void add(const std::filesystem::directory_entry& file, std::uint64_t seed);

    std::filesystem::path folder_;
    std::string names_;
    std::vector<Entry> entries_;
    std::vector<std::string> classes_;
    std::uint64_t bytes_ = 0;
    std::uint64_t fingerprint_ = 0;
};

/// A name of a file for a terminal or a text: other bytes than printable UTF-8 become "?".
std::string shown_name(std::string_view name);

}  // namespace dedloc::pictures
