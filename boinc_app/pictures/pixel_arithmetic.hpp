// The arithmetic of one pixel, shared by host and device (boinc_app/cuda), so that the tests
// against Pillow hold for both. Whole numbers, and + − × ÷ of binary32 and binary64 that are
// rounded one by one: no fused multiply-add, no libm, no fast-math.
#pragma once

#include <cstdint>

#include "kernels/arithmetic.hpp"

namespace dedloc::pictures {

/// The luma of a colour.
DEDLOC_HOST_DEVICE inline int luma(int red, int green, int blue) {
    return (19'595 * red + 38'470 * green + 7'471 * blue + 0x8000) >> 16;
}

/// The blend from + factor · (to − from), rounded towards 0 and clipped to a byte.
DEDLOC_HOST_DEVICE inline std::uint8_t blend(int from, int to, float factor) {
    const float value = static_cast<float>(from) + factor * static_cast<float>(to - from);
    const float low = value > 0 ? value : 0;
    return static_cast<std::uint8_t>(static_cast<int>(low < 255 ? low : 255));
}

/// The mean of `count` lumas with this sum, rounded.
DEDLOC_HOST_DEVICE inline int mean_luma(std::uint64_t sum, std::uint64_t count) {
    return static_cast<int>(static_cast<double>(sum) / static_cast<double>(count) + 0.5);
}

/// (byte ÷ 255 − mean) ÷ deviation.
DEDLOC_HOST_DEVICE inline float normalised(std::uint8_t byte, float mean, float deviation) {
    return (static_cast<float>(byte) / 255.0f - mean) / deviation;
}

// --- hue ----------------------------------------------------------------------------------------

/// All bits if the condition holds, else none: conditions on lanes without branches.
DEDLOC_HOST_DEVICE inline int mask_of(bool condition) {
    return -static_cast<int>(condition);
}

/// The hue of a colour, a turn being 255. `span` is max − min, or 1 if they are equal.
DEDLOC_HOST_DEVICE inline int hue_of(int r, int g, int b, int max, int span) {
    const int is_red = mask_of(r == max);
    const int is_green = mask_of(g == max) & ~is_red;
    const int is_blue = ~(is_red | is_green);
    // The largest channel, and how far the other two are from it.
    const int base = (2 & is_green) | (4 & is_blue);
    const int next = (b & is_red) | (r & is_green) | (g & is_blue);
    const int after = (g & is_red) | (b & is_green) | (r & is_blue);
    const auto divisor = static_cast<float>(span);
    const float forwards = static_cast<float>(max - next) / divisor;
    const float backwards = static_cast<float>(max - after) / divisor;
    // The sum is exact in binary64, so there is one rounding.
    const auto sixths = static_cast<float>(static_cast<double>(base) + forwards - backwards);
    const double turns = sixths / 6.0 + 1.0;
    const auto fraction = static_cast<float>(turns - static_cast<int>(turns));
    return static_cast<int>(fraction * 255.0);
}

/// Turns the hue of a colour by `shift` units of 1/255 turn, modulo 256.
DEDLOC_HOST_DEVICE inline void turn_hue(std::uint8_t& red, std::uint8_t& green, std::uint8_t& blue,
                                        int shift) {
    const int r = red;
    const int g = green;
    const int b = blue;
    const int more = r > g ? r : g;
    const int less = r < g ? r : g;
    const int max = more > b ? more : b;
    const int span = max - (less < b ? less : b);
    const int saturation =
        static_cast<int>(static_cast<float>(span) / static_cast<float>(max > 1 ? max : 1) * 255.0);
    // A gray has hue 0, but without saturation it does not count.
    const int hue = (hue_of(r, g, b, max, span > 1 ? span : 1) + shift) & 255;

    // Sixth of the circle and position in it, in units of 1/255.
    const int sixth = 6 * hue / 255;
    const int position = 6 * hue - 255 * sixth;
    const int low = (2 * max * (255 - saturation) + 255) / 510;
    const int falling = (2 * max * (65'025 - saturation * position) + 65'025) / 130'050;
    const int rising = (2 * max * (65'025 - saturation * (255 - position)) + 65'025) / 130'050;
    // Hue 255 is in the seventh, which is the first again.
    const int in_1 = mask_of(sixth == 0) | mask_of(sixth == 6);
    const int in_2 = mask_of(sixth == 1);
    const int in_3 = mask_of(sixth == 2);
    const int in_4 = mask_of(sixth == 3);
    const int in_5 = mask_of(sixth == 4);
    const int in_6 = mask_of(sixth == 5);
    red = static_cast<std::uint8_t>((max & (in_1 | in_6)) | (falling & in_2) |
                                    (low & (in_3 | in_4)) | (rising & in_5));
    green = static_cast<std::uint8_t>((max & (in_2 | in_3)) | (falling & in_4) |
                                      (low & (in_5 | in_6)) | (rising & in_1));
    blue = static_cast<std::uint8_t>((max & (in_4 | in_5)) | (falling & in_6) |
                                     (low & (in_1 | in_2)) | (rising & in_3));
}

// --- resizing -----------------------------------------------------------------------------------

inline constexpr int kWeightBits = 22;                               ///< fraction bits of a weight
inline constexpr std::int32_t kWeightHalf = 1 << (kWeightBits - 1);  ///< where a sum begins

/// The byte of a weighted sum that began with kWeightHalf.
DEDLOC_HOST_DEVICE inline std::uint8_t weighed_byte(std::int32_t sum) {
    // Rounded weights may add up to slightly more than 1.
    const std::int32_t value = sum >> kWeightBits;
    return static_cast<std::uint8_t>(value < 255 ? value : 255);
}

/// The pixels of an axis that one pixel of the result is made of.
struct Taps {
    std::uint32_t first = 0;  ///< index of the first one
    std::uint32_t count = 0;  ///< at least 1
};

/// The antialiased bilinear filter of an axis of `length` pixels that is resized.
class TriangleFilter {
  public:
    DEDLOC_HOST_DEVICE TriangleFilter(std::uint32_t length, std::uint32_t resized)
        : length_(length),
          scale_(static_cast<double>(length) / resized),
          support_(scale_ > 1.0 ? scale_ : 1.0),
          inverse_(1.0 / support_) {}

    /// Weights of a pixel at most.
    DEDLOC_HOST_DEVICE std::uint32_t max_taps() const {
        const auto whole = static_cast<std::uint32_t>(support_);
        return 2 * (whole + (whole < support_ ? 1 : 0)) + 1;
    }
    /// The middle of a pixel of the result, on the axis.
    DEDLOC_HOST_DEVICE double center_of(std::uint32_t pixel) const {
        return (static_cast<double>(pixel) + 0.5) * scale_;
    }
    /// The pixels with a weight for the result's pixel there.
    DEDLOC_HOST_DEVICE Taps taps_of(double center) const {
        const double from = center - support_ + 0.5;
        const double to = center + support_ + 0.5;
        const auto first = static_cast<std::uint32_t>(from > 0.0 ? from : 0.0);
        const auto end = static_cast<std::uint32_t>(to < length_ ? to : length_);
        return {first, end - first};
    }
    /// The weight of pixel x, before it is divided by the sum of all.
    DEDLOC_HOST_DEVICE double weight_of(std::uint32_t x, double center) const {
        const double offset = (x - center + 0.5) * inverse_;
        const double distance = offset < 0 ? -offset : offset;
        return distance < 1 ? 1 - distance : 0;
    }
    /// A weight in units of 2⁻²².
    DEDLOC_HOST_DEVICE static std::int32_t rounded(double weight, double sum) {
        return static_cast<std::int32_t>(0.5 + weight / sum * (1 << kWeightBits));
    }

  private:
    double length_;
    double scale_;
    double support_;
    double inverse_;
};

/// Whether columns are resized before rows: where the height loses more than twice as many pixels
/// as the width, and at least one. Which pass comes first changes roundings.
DEDLOC_HOST_DEVICE inline bool columns_come_first(std::int64_t lost_rows,
                                                  std::int64_t lost_columns) {
    return lost_rows > 0 && lost_rows > 2 * lost_columns;
}

// --- blur ---------------------------------------------------------------------------------------

/// An extended box: three of them make a Gaussian blur.
struct Box {
    std::uint32_t radius = 0;  ///< whole pixels to each side with the inner weight
    std::uint32_t inner = 0;   ///< weight of a pixel, in 2⁻²⁴
    std::uint32_t outer = 0;   ///< weight of the two pixels beyond the radius
};
/// Boxes of a blur in each direction.
inline constexpr int kBoxPasses = 3;

/// The mean of the pixels in a box, by the sum of those within the radius and that of both ends.
DEDLOC_HOST_DEVICE inline std::uint8_t box_mean(std::uint32_t sum, std::uint32_t ends,
                                                std::uint32_t inner, std::uint32_t outer) {
    return static_cast<std::uint8_t>((sum * inner + ends * outer + (1u << 23)) >> 24);
}

}  // namespace dedloc::pictures
