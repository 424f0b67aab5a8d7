// Operations on the colours of a crop, with the roundings of Pillow's ImageEnhance and Image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "boinc_app/pictures/crop_parameters.hpp"

namespace dedloc::pictures {

/// The channels of a crop, equally long, changed in place. Every operation costs about one to five
/// nanoseconds a pixel (tests/bench/RESULTS.md), allocates nothing, and gives the same bits on
/// every machine: whole numbers, and + − × ÷ of binary32 and binary64 that are rounded one by one.
struct Planes {
    std::span<std::uint8_t> red;    ///< N bytes
    std::span<std::uint8_t> green;  ///< N bytes
    std::span<std::uint8_t> blue;   ///< N bytes
};

/// c ← factor · c, rounded down, at most 255. Requires factor ≥ 0.
void adjust_brightness(const Planes& planes, double factor);
/// c ← m + factor · (c − m), rounded towards 0 and clipped, where m is the mean luma of the planes,
/// rounded to a whole number. Requires N ≥ 1.
void adjust_contrast(const Planes& planes, double factor);
/// c ← l + factor · (c − l), rounded towards 0 and clipped, where l is the luma of the pixel.
void adjust_saturation(const Planes& planes, double factor);
/// Turns the hue. Pixels become hue, saturation and value of 8 bits each, where a turn has 255
/// units; the shift, rounded towards 0, is added modulo 256; and back. Requires |turns| ≤ 0.5.
void shift_hue(const Planes& planes, double turns);
/// The shift in those units, rounded towards 0.
constexpr int hue_units(double turns) {
    return static_cast<int>(turns * 255);
}
/// All channels become the luma, (19595 R + 38470 G + 7471 B) / 2¹⁶ rounded.
void make_gray(const Planes& planes);
/// The operations of the jitter in its order. Those with a factor of 1 or a shift of 0 are left
/// out.
void apply_jitter(const Planes& planes, const Jitter& jitter);

}  // namespace dedloc::pictures
