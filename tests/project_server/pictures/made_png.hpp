// PNGs that tests make by libpng.
#pragma once

#include <cstdint>

#include "boinc_app/pictures/picture.hpp"
#include "peer/base/bytes.hpp"

namespace dedloc::tests {

/// How the pixels of a PNG are stored.
enum class PngForm : std::uint8_t {
    kRgb,        ///< 8 bits
    kRgb16,      ///< 16 bits; low bytes are noise
    kRgba,       ///< 8 bits and transparency
    kGray16,     ///< the red values, 16 bits
    kPalette,    ///< the gray of the red values, in 4 bits
    kInterlaced  ///< 8 bits, in seven passes
};
/// A PNG of this picture.
Buffer made_png(const pictures::Picture& picture, PngForm form);

}  // namespace dedloc::tests
