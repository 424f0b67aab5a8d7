// One file of a folder → the JPEG that a shard gets, or why it is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "boinc_app/pictures/jpeg_decoder.hpp"
#include "peer/base/bytes.hpp"
#include "peer/base/result.hpp"

namespace dedloc::pictures {

/// Most bytes of a file that is looked at; a PNG may become smaller as a JPEG.
inline constexpr std::size_t kMaxSourceBytes = std::size_t{64} << 20;
/// Quality of JPEGs that are made of PNGs.
inline constexpr int kPngQuality = 95;

/// A picture as a shard has it.
struct SourcePicture {
    Buffer jpeg;               ///< without metadata; at most formats::kMaxPictureBytes
    std::uint32_t width = 0;   ///< pixels, upright
    std::uint32_t height = 0;  ///< likewise
};
/// Why a file is refused.
struct SourceRefusal {
    std::string reason;    ///< a few words, the same for all of its kind
    std::string sentence;  ///< a clause about this file
};

/// Reads a file. JPEGs stay as they are but for their metadata, PNGs are coded anew; a file's first
/// bytes say which it is, its name does not matter. Every JPEG is decoded once at 1/8, which
/// reads all coded data.
///
/// Errors  SourceRefusal: unreadable, too large, or as decode_jpeg(), read_png() and
///         without_metadata() say. std::bad_alloc.
/// Memory  a file and its picture at 1/8, of a PNG in full
Result<SourcePicture, SourceRefusal> read_source(const std::filesystem::path& file,
                                                 std::uint64_t max_pixels);

}  // namespace dedloc::pictures
