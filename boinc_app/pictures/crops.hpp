// From a picture in memory to the crops that a network sees.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "boinc_app/pictures/blur.hpp"
#include "boinc_app/pictures/crop_parameters.hpp"
#include "boinc_app/pictures/picture.hpp"
#include "boinc_app/pictures/resampling.hpp"
#include "peer/formats/swav_spec.hpp"

namespace dedloc::pictures {

/// Buffers of one thread. They grow to the largest picture and crop that it sees, so that later
/// crops allocate nothing.
struct Scratch {
    Resampler resampler{};               ///< resizes the picture
    GaussianBlur blur{};                 ///< blurs the crop's planes
    std::vector<std::uint8_t> planes{};  ///< the crop
};

/// The crop that figures on held-out pictures are computed from.
struct MiddleCrop {
    std::uint32_t shorter_side = 256;  ///< to which the picture is resized, at most 4,096
    std::uint32_t size = 224;  ///< pixels of each side of the crop, at most the shorter side
    bool operator==(const MiddleCrop&) const = default;
};

/// Makes the crop that the parameters describe: region, resize, flip, jitter, gray, blur. All are
/// on 8 bits, with the roundings of Pillow.
///
/// Shapes    out [3, size, size]: red, green, blue
/// Promise   equal arguments give equal bytes on every machine
/// Requires  the region within the picture, out of 3 size² elements (DEDLOC_CHECK)
/// Memory    no allocation that an earlier crop has made; Resampler::run() has the formula, and
///           draw_crop() regions have h ≤ √(4/3 pixels), w likewise
/// Thread    any, with a scratch of its own
/// Cost      tests/bench/RESULTS.md, by tests/boinc_app/pictures/compare_with_pillow.py
void make_crop(const Picture& picture, const CropParameters& parameters,
               std::span<std::uint8_t> out, Scratch& scratch);

/// The same, then (c / 255 − mean) / deviation of each channel, in binary32 as torchvision's
/// ToTensor and Normalize.
void make_crop(const Picture& picture, const CropParameters& parameters,
               const formats::ColourSpec& colours, std::span<float> out, Scratch& scratch);

/// Resizes the picture so that its shorter side has the length asked for and its longer one is
/// rounded down, and takes the square in the middle, as torchvision's Resize and CenterCrop. Only
/// the pixels of the square are computed, so a picture of 1 × 65,500 is no danger.
///
/// Shapes    out [3, size, size]
/// Requires  1 ≤ size ≤ shorter_side ≤ 4,096, out of 3 size² elements (DEDLOC_CHECK)
void make_middle_crop(const Picture& picture, const MiddleCrop& crop, std::span<std::uint8_t> out,
                      Scratch& scratch);

/// The same, normalised.
void make_middle_crop(const Picture& picture, const MiddleCrop& crop,
                      const formats::ColourSpec& colours, std::span<float> out, Scratch& scratch);

}  // namespace dedloc::pictures
