// JPEGs that tests make by libjpeg: each kind of coding and of colours.
#pragma once

#include <cstdint>

#include "boinc_app/pictures/picture.hpp"
#include "peer/base/bytes.hpp"

namespace dedloc::tests {

/// Colours that a JPEG is coded in.
enum class Colours : std::uint8_t { kYcc, kGray, kRgb, kCmyk, kYcck };

/// How a JPEG is made.
struct JpegForm {
    Colours colours = Colours::kYcc;    ///< CMYK and YCCK as Adobe does: inverted inks, a segment
    int quality = 90;                   ///< 1 to 100
    int chroma = 2;                     ///< sampling of the first component: 2 is 4:2:0, 1 is 4:4:4
    bool is_progressive = false;        ///< several scans
    bool has_arithmetic_codes = false;  ///< instead of Huffman's
    unsigned restart_rows = 0;          ///< rows of blocks between restart markers; 0: none
    unsigned orientation = 0;           ///< in an EXIF segment; 0: no such segment
    bool is_little_endian = false;      ///< that segment
    const char* comment = nullptr;      ///< in a COM segment
};
/// A JPEG of this picture. Of a gray one the red values count; black and the complement of the
/// colours are the inks.
Buffer made_jpeg(const pictures::Picture& picture, const JpegForm& form = {});

/// A smooth picture with a gradient in each colour, and a different value in every corner.
pictures::Picture smooth_picture(std::uint32_t width, std::uint32_t height);

}  // namespace dedloc::tests
