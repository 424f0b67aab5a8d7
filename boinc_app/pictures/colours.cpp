// Brightness and contrast map every byte alone, so a table of 256 bytes does them. The others are
// loops without branches over the three planes. The way from RGB to HSV divides in binary32 and
// binary64 exactly where Pillow does; the way back is in whole numbers, which give what Pillow's
// floating-point numbers give for all 2²⁴ inputs (crops_test.cpp has digests of five shifts).
#include "boinc_app/pictures/colours.hpp"

#include <array>

#include "boinc_app/pictures/pixel_arithmetic.hpp"
#include "kernels/instruction_set.hpp"
#include "peer/base/check.hpp"

namespace dedloc::pictures {
namespace {

using kernels::run_for;
using kernels::widest_instruction_set;
using Byte = std::uint8_t;

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
    DEDLOC_LOOP void run(Byte* red, Byte* green, Byte* blue, std::size_t count, int shift) {
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) turn_hue(red[i], green[i], blue[i], shift);
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
    blend_with(mean_luma(sum, count), planes, factor);
}

void adjust_saturation(const Planes& planes, double factor) {
    run_for<Saturate>(widest_instruction_set(), planes.red.data(), planes.green.data(),
                      planes.blue.data(), planes.red.size(), static_cast<float>(factor));
}

void shift_hue(const Planes& planes, double turns) {
    run_for<TurnHue>(widest_instruction_set(), planes.red.data(), planes.green.data(),
                     planes.blue.data(), planes.red.size(), hue_units(turns));
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
