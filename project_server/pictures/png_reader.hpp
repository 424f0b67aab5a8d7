// Decodes a PNG in memory by libpng. Files may be broken or hostile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "boinc_app/pictures/picture.hpp"
#include "boinc_app/pictures/picture_fault.hpp"
#include "peer/base/result.hpp"

namespace dedloc::pictures {

/// Whether the bytes begin as a PNG does.
bool is_png(std::span<const std::byte> bytes);

/// The picture of a PNG: gray and palettes become colours, 16-bit values their high bytes, and
/// transparency is dropped, as Pillow's convert("RGB") does. Gamma, profiles, texts and EXIF are
/// not read.
///
/// Errors  PictureFault. std::bad_alloc when the machine has no memory.
/// Memory  3 bytes for each pixel, of which there are at most `max_pixels`, and a row
Result<Picture, PictureFault> read_png(std::span<const std::byte> png, std::uint64_t max_pixels);

}  // namespace dedloc::pictures
