// Brightness and contrast map every byte alone, so a table of 256 bytes does them. The others are
// loops without branches over the three planes. The way from RGB to HSV divides in binary32 and
// binary64 exactly where Pillow does; the way back is in whole numbers, which give what Pillow's
// floating-point numbers give for all 2²⁴ inputs (crops_test.cpp has digests of five shifts).
#include "boinc_app/pictures/colours.hpp"

#include <array>

#include "kernels/instruction_set.hpp"
#include "peer/base/check.hpp"

namespace dedloc::pictures {
namespace {

using kernels::run_for;
using kernels::widest_instruction_set;
using Byte = std::uint8_t;

DEDLOC_LOOP int luma(int red, int green, int blue) {
    return (19'595 * red + 38'470 * green + 7'471 * blue + 0x8000) >> 16;
}

/// The blend from + factor · (to − from), rounded towards 0 and clipped to a byte.
DEDLOC_LOOP Byte blend(int from, int to, float factor) {
    const float value = static_cast<float>(from) + factor * static_cast<float>(to - from);
    const float low = value > 0 ? value : 0;
    return static_cast<Byte>(static_cast<int>(low < 255 ? low : 255));
}

struct SumLuma {
    DEDLOC_LOOP std::uint64_t run(const Byte* red, const Byte* green, const Byte* blue,
                                  std::size_t count) {
        std::uint64_t sum = 0;
        while (count > 0) {
            // A block's sum fits into 32 bits, so that more lanes fit into a register.
            const std::size_t block = count < 65'536 ? count : 65'536;
            std::uint32_t part = 0;
            for (std::size_t i = 0; i < block; ++i) {
                part += static_cast<std::uint32_t>(luma(red[i], green[i], blue[i]));
            }
            sum += part;
            red += block;
            green += block;
            blue += block;
            count -= block;
        }
        return sum;
    }
};

struct Saturate {
    DEDLOC_LOOP void run(Byte* red, Byte* green, Byte* blue, std::size_t count, float factor) {
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
            const int gray = luma(red[i], green[i], blue[i]);
            red[i] = blend(gray, red[i], factor);
            green[i] = blend(gray, green[i], factor);
            blue[i] = blend(gray, blue[i], factor);
        }
    }
};

struct Gray {
    DEDLOC_LOOP void run(Byte* red, Byte* green, Byte* blue, std::size_t count) {
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
            const auto gray = static_cast<Byte>(luma(red[i], green[i], blue[i]));
            red[i] = gray;
            green[i] = gray;
            blue[i] = gray;
        }
    }
};

/// All bits if the condition holds, else none: conditions on lanes without branches.
DEDLOC_LOOP int mask_of(bool condition) {
    return -static_cast<int>(condition);
}

struct TurnHue {
    /// The hue of a colour, a turn being 255. `span` is max − min, or 1 if they are equal.
    DEDLOC_LOOP int hue_of(int r, int g, int b, int max, int span) {
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
        // In binary64 the sum is exact, so it is rounded once.
        const auto sixths = static_cast<float>(static_cast<double>(base) + forwards - backwards);
        const double turns = sixths / 6.0 + 1.0;
        const auto fraction = static_cast<float>(turns - static_cast<int>(turns));
        return static_cast<int>(fraction * 255.0);
    }

    DEDLOC_LOOP void run(Byte* red, Byte* green, Byte* blue, std::size_t count, int shift) {
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
            const int r = red[i];
            const int g = green[i];
            const int b = blue[i];
            const int more = r > g ? r : g;
            const int less = r < g ? r : g;
            const int max = more > b ? more : b;
            const int span = max - (less < b ? less : b);
            const int saturation = static_cast<int>(static_cast<float>(span) /
                                                    static_cast<float>(max > 1 ? max : 1) * 255.0);
            // A gray has hue 0, but without saturation it does not count.
            const int hue = (hue_of(r, g, b, max, span > 1 ? span : 1) + shift) & 255;

            // Sixth of the circle and position in it, in units of 1/255.
            const int sixth = 6 * hue / 255;
            const int position = 6 * hue - 255 * sixth;
            const int low = (2 * max * (255 - saturation) + 255) / 510;
            const int falling = (2 * max * (65'025 - saturation * position) + 65'025) / 130'050;
            const int rising =
                (2 * max * (65'025 - saturation * (255 - position)) + 65'025) / 130'050;
            // Hue 255 is in the seventh, which is the first again.
            const int in_1 = mask_of(sixth == 0) | mask_of(sixth == 6);
            const int in_2 = mask_of(sixth == 1);
            const int in_3 = mask_of(sixth == 2);
            const int in_4 = mask_of(sixth == 3);
            const int in_5 = mask_of(sixth == 4);
            const int in_6 = mask_of(sixth == 5);
            red[i] = static_cast<Byte>((max & (in_1 | in_6)) | (falling & in_2) |
                                       (low & (in_3 | in_4)) | (rising & in_5));
            green[i] = static_cast<Byte>((max & (in_2 | in_3)) | (falling & in_4) |
                                         (low & (in_5 | in_6)) | (rising & in_1));
            blue[i] = static_cast<Byte>((max & (in_4 | in_5)) | (falling & in_6) |
                                        (low & (in_1 | in_2)) | (rising & in_3));
        }
    }
};

void map(const Planes& planes, const std::array<Byte, 256>& table) {
    for (const std::span<Byte> plane : {planes.red, planes.green, planes.blue}) {
        for (Byte& value : plane) value = table[value];
    }
}

/// Blends every value with `gray`.
void blend_with(int gray, const Planes& planes, double factor) {
    std::array<Byte, 256> table{};
    for (int i = 0; i < 256; ++i) {
        table[static_cast<std::size_t>(i)] = blend(gray, i, static_cast<float>(factor));
    }
    map(planes, table);
}

}  // namespace

void adjust_brightness(const Planes& planes, double factor) {
    blend_with(0, planes, factor);
}

void adjust_contrast(const Planes& planes, double factor) {
    const std::size_t count = planes.red.size();
    DEDLOC_CHECK(count >= 1, "a mean needs pixels");
    const std::uint64_t sum = run_for<SumLuma>(widest_instruction_set(), planes.red.data(),
                                               planes.green.data(), planes.blue.data(), count);
    const double mean = static_cast<double>(sum) / static_cast<double>(count);
    blend_with(static_cast<int>(mean + 0.5), planes, factor);
}

void adjust_saturation(const Planes& planes, double factor) {
    run_for<Saturate>(widest_instruction_set(), planes.red.data(), planes.green.data(),
                      planes.blue.data(), planes.red.size(), static_cast<float>(factor));
}

void shift_hue(const Planes& planes, double turns) {
    run_for<TurnHue>(widest_instruction_set(), planes.red.data(), planes.green.data(),
                     planes.blue.data(), planes.red.size(), static_cast<int>(turns * 255));
}

void make_gray(const Planes& planes) {
    run_for<Gray>(widest_instruction_set(), planes.red.data(), planes.green.data(),
                  planes.blue.data(), planes.red.size());
}

void apply_jitter(const Planes& planes, const Jitter& jitter) {
    for (const JitterOperation operation : jitter.order) {
        switch (operation) {
            case JitterOperation::kBrightness:
                if (jitter.brightness != 1) adjust_brightness(planes, jitter.brightness);
                break;
            case JitterOperation::kContrast:
                if (jitter.contrast != 1) adjust_contrast(planes, jitter.contrast);
                break;
            case JitterOperation::kSaturation:
                if (jitter.saturation != 1) adjust_saturation(planes, jitter.saturation);
                break;
            case JitterOperation::kHue:
                if (jitter.hue != 0) shift_hue(planes, jitter.hue);
                break;
        }
    }
}

}  // namespace dedloc::pictures
