// Codes a picture as a JPEG by libjpeg-turbo.
#pragma once

#include "boinc_app/pictures/picture.hpp"
#include "peer/base/bytes.hpp"

namespace dedloc::pictures {

/// Largest width and height of a JPEG, in pixels.
inline constexpr std::uint32_t kMaxJpegSide = 65'500;

/// A baseline JPEG with 4:2:0 chroma. Equal pictures give equal bytes.
/// Requires 1 ≤ quality ≤ 100 and sides of 1 to kMaxJpegSide (DEDLOC_CHECK).
/// Errors: std::bad_alloc.
Buffer encode_jpeg(const Picture& picture, int quality);

}  // namespace dedloc::pictures
