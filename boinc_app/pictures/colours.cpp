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

struct TurnHue {
    /// The hue of a colour, a turn being 255. `span` is max − min, or 1 if they are equal.
    DEDLOC_LOOP int hue_of(int r, int g, int b, int max, int span) {
        const auto divisor = static_cast<float>(span);
        const float from_red = static_cast<float>(max - r) / divisor;
        const float from_green = static_cast<float>(max - g) / divisor;
        const float from_blue = static_cast<float>(max - b) / divisor;
        const auto after_green = static_cast<float>(2.0 + from_red - from_blue);
        const auto after_blue = static_cast<float>(4.0 + from_green - from_red);
        const float sixths = r == max   ? from_blue - from_green
                             : g == max ? after_green
                                        : after_blue;
        const double turns = sixths / 6.0 + 1.0;
        const auto fraction = static_cast<float>(turns < 1 ? turns : turns - 1);
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
                                                    static_cast<float>(max > 0 ? max : 1) * 255.0);
            // A gray has hue 0, but without saturation it does not count.
            const int hue = (hue_of(r, g, b, max, span > 0 ? span : 1) + shift) & 255;

            // Sixth of the circle and position in it, in units of 1/255.
            const int sixth = 6 * hue / 255;
            const int position = 6 * hue - 255 * sixth;
            const int low = (2 * max * (255 - saturation) + 255) / 510;
            const int falling = (2 * max * (65'025 - saturation * position) + 65'025) / 130'050;
            const int rising =
                (2 * max * (65'025 - saturation * (255 - position)) + 65'025) / 130'050;
            // Hue 255 is in the seventh, which is the first again.
            const bool is_first = sixth == 0 || sixth == 6;
            red[i] = static_cast<Byte>(is_first || sixth == 5 ? max
                                       : sixth == 1           ? falling
                                       : sixth == 4           ? rising
                                                              : low);
            green[i] = static_cast<Byte>(sixth == 1 || sixth == 2 ? max
                                         : sixth == 3             ? falling
                                         : is_first               ? rising
                                                                  : low);
            blue[i] = static_cast<Byte>(sixth == 3 || sixth == 4 ? max
                                        : sixth == 5             ? falling
                                        : sixth == 2             ? rising
                                                                 : low);
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
