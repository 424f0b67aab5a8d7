// Turns and mirrors a picture as EXIF's orientation says.
#pragma once

#include "boinc_app/pictures/picture.hpp"

namespace dedloc::pictures {

/// The picture as it is to be seen, by the EXIF orientation of its file: 1 as it is, 2 mirrored
/// left to right, 3 turned by 180°, 4 mirrored top to bottom, 5 transposed, 6 turned by 90°
/// clockwise, 7 transposed over the other diagonal, 8 turned by 90° counter-clockwise.
/// Requires 1 ≤ orientation ≤ 8 (DEDLOC_CHECK).
/// Cost     a copy of the pixels; none for 1
/// Source   EXIF 2.3, tag 0x0112; the same as Pillow's ImageOps.exif_transpose
Picture oriented(Picture picture, unsigned orientation);

}  // namespace dedloc::pictures
