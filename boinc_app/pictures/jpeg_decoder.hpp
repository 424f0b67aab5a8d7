// Decodes a JPEG in memory by libjpeg-turbo, at the smallest DCT scale that suffices. Pictures come
// from strangers: pixels, memory and scans are bounded before anything is allocated for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "boinc_app/pictures/picture.hpp"
#include "boinc_app/pictures/picture_fault.hpp"
#include "peer/base/result.hpp"

namespace dedloc::pictures {

/// Most pixels that the head of a picture may claim, unless a caller says otherwise.
inline constexpr std::uint64_t kMaxPixels = std::uint64_t{1} << 26;
/// Most scans of a file, unless a caller says otherwise; usual progressive files have ten.
inline constexpr std::uint32_t kMaxScans = 100;

/// Arguments of decode_jpeg().
struct DecodeOptions {
    /// Smallest side that the caller needs, in pixels. The largest number decodes at full size.
    std::uint32_t min_side = std::numeric_limits<std::uint32_t>::max();
    std::uint64_t max_pixels = kMaxPixels;  ///< width × height in the file's head
    std::uint32_t max_scans = kMaxScans;    ///< each passes over all coefficients
};

/// The picture of a JPEG: colours as sRGB, upright by its EXIF orientation.
///
/// Scale    the smallest of 1/8, 2/8 … 8/8 whose smaller side is at least `min_side`; 8/8 if none
///          is. Sides are rounded up.
/// Accepts  baseline, extended and progressive Huffman coding, arithmetic coding; gray, YCbCr, RGB,
///          CMYK and YCCK with Adobe's inverted inks. Unknown segments and bytes between segments
///          do no harm, nor does a missing end marker of a file that is neither progressive nor
///          arithmetic.
/// Errors   PictureFault: whatever else libjpeg-turbo warns of, so that no guessed pixel gets
///          through. std::bad_alloc when the machine has no memory.
/// Memory   3 bytes for each pixel of the result, twice while it is turned; for a progressive file
///          2 bytes for each coefficient at full size, at most 8 × max_pixels + 16 MiB
/// Cost     a file of 2²⁶ pixels in 100 scans takes 1 s of a core; tests/bench/RESULTS.md
/// Thread   any
/// Source   the same pixels as Pillow's convert("RGB") after ImageOps.exif_transpose
Result<Picture, PictureFault> decode_jpeg(std::span<const std::byte> jpeg,
                                          const DecodeOptions& options = {});

/// What decode_jpeg() would begin with.
struct JpegHead {
    std::uint32_t width = 0;   ///< pixels of the picture at full size, upright
    std::uint32_t height = 0;  ///< likewise
};
/// Reads no more than the head. Errors: as decode_jpeg().
Result<JpegHead, PictureFault> read_jpeg_head(std::span<const std::byte> jpeg,
                                              const DecodeOptions& options = {});

}  // namespace dedloc::pictures
