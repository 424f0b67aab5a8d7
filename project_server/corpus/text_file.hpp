// Lines of a UTF-8 text file of any size. Anything else than UTF-8 text is refused with the
// position of the first bad byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "peer/platform/descriptor.hpp"

namespace dedloc::corpus {

/// Position of the first byte that is NUL or does not continue valid UTF-8 (Unicode, table 3-7);
/// nothing for valid text. Cost: more than 1 GB/s for ASCII.
std::optional<std::size_t> find_invalid_text(std::string_view text);

/// Reads a text file line by line. Memory: one line and a block of 1 MiB.
class TextFile final {
  public:
    /// Opens the file at byte `offset`. A line of more than `limit` bytes is delivered in pieces of
    /// at most that size, cut at white space if there is any near the end of the piece.
    /// Errors: InputError when it is not a regular file that can be read.
    TextFile(std::filesystem::path path, std::uint64_t offset, std::size_t limit);

    /// Reads the next line, or piece of a line, without its line end. False at the end of the file.
    /// Errors: InputError (not UTF-8 text), IoError.
    bool next(std::string& line);
    /// Whether the last piece is not the end of its line.
    bool is_cut() const { return is_cut_; }
    /// Position of the next line or piece, in bytes.
    std::uint64_t offset() const { return offset_; }
    /// The file's path.
    const std::filesystem::path& path() const { return path_; }

  private:
    bool fill();
    std::string form() const;
    bool take_line(std::string& line);
    void cut(std::string& line);

    const std::filesystem::path path_;
    const std::size_t limit_;
    const platform::Descriptor descriptor_;
    std::string block_;     ///< bytes read and not delivered yet, from at_ on
    std::size_t at_ = 0;    ///< in block_
    std::uint64_t offset_;  ///< position of the next line or piece in the file
    std::string carried_;   ///< begin of the next piece, after a cut
    bool is_cut_ = false;
};

}  // namespace dedloc::corpus
