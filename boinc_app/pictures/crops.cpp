// A crop is made in the planes of the scratch and then copied or normalised into the caller's
// memory. The resampler computes the crop's pixels only, and flips them on the way.
#include "boinc_app/pictures/crops.hpp"

#include <algorithm>
#include <utility>

#include "boinc_app/pictures/colours.hpp"
#include "boinc_app/pictures/pixel_arithmetic.hpp"
#include "kernels/instruction_set.hpp"
#include "peer/base/check.hpp"

namespace dedloc::pictures {
namespace {

using Bytes = std::span<std::uint8_t>;

constexpr std::uint32_t kMaxShorterSide = 4'096;

struct Normalise {
    DEDLOC_LOOP void run(const std::uint8_t* from, float* to, std::size_t count, float mean,
                         float deviation) {
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
            to[i] = normalised(from[i], mean, deviation);
        }
    }
};

/// The resized square in the scratch's planes.
Bytes resample(const Picture& picture, const Resampling& resampling, std::size_t out_size,
               Scratch& scratch) {
    const std::size_t bytes = std::size_t{3} * resampling.size * resampling.size;
    DEDLOC_CHECK(out_size == bytes, "the result has three planes", out_size, bytes);
    if (scratch.planes.size() < bytes + Resampler::kSlack) {
        scratch.planes.resize(bytes + Resampler::kSlack);
    }
    scratch.resampler.run(picture, resampling, scratch.planes);
    return Bytes{scratch.planes}.first(bytes);
}

Bytes crop_bytes(const Picture& picture, const CropParameters& parameters, std::size_t out_size,
                 Scratch& scratch) {
    const Bytes bytes = resample(picture,
                                 {.region = parameters.region,
                                  .resized = {parameters.size, parameters.size},
                                  .size = parameters.size,
                                  .is_flipped = parameters.is_flipped},
                                 out_size, scratch);
    const std::size_t plane = bytes.size() / 3;
    const Planes planes{
        .red = bytes.first(plane), .green = bytes.subspan(plane, plane), .blue = bytes.last(plane)};
    apply_jitter(planes, parameters.jitter);
    if (parameters.is_gray) make_gray(planes);
    if (parameters.blur_radius != 0) {
        for (const Bytes channel : {planes.red, planes.green, planes.blue}) {
            scratch.blur.run(channel, parameters.size, parameters.blur_radius);
        }
    }
    return bytes;
}

/// Half of what is left over, rounded to the nearest even number where it is not whole.
std::uint32_t half_of(std::uint32_t rest) {
    return rest / 2 + (rest % 4 == 3 ? 1 : 0);
}

Bytes middle_bytes(const Picture& picture, const MiddleCrop& crop, std::size_t out_size,
                   Scratch& scratch) {
    DEDLOC_CHECK(
        crop.size >= 1 && crop.size <= crop.shorter_side && crop.shorter_side <= kMaxShorterSide,
        "the crop fits into the shorter side", crop.size, crop.shorter_side);
    const Extent extent{.width = picture.width, .height = picture.height};
    const std::uint64_t shorter = std::min(extent.width, extent.height);
    const std::uint64_t longer = std::max(extent.width, extent.height);
    DEDLOC_CHECK(shorter >= 1 && longer < 1u << 20, "a side has at most a million pixels", shorter,
                 longer);
    const auto long_side = static_cast<std::uint32_t>(crop.shorter_side * longer / shorter);
    Extent resized{.width = crop.shorter_side, .height = long_side};
    if (extent.width > extent.height) std::swap(resized.width, resized.height);
    return resample(picture,
                    {.region = {.left = 0, .top = 0, .extent = extent},
                     .resized = resized,
                     .left = half_of(resized.width - crop.size),
                     .top = half_of(resized.height - crop.size),
                     .size = crop.size,
                     .is_flipped = false},
                    out_size, scratch);
}

void normalise(Bytes bytes, const formats::ColourSpec& colours, std::span<float> out) {
    const std::size_t plane = bytes.size() / 3;
    for (std::size_t channel = 0; channel < 3; ++channel) {
        kernels::run_for<Normalise>(kernels::widest_instruction_set(),
                                    bytes.data() + channel * plane, out.data() + channel * plane,
                                    plane, static_cast<float>(colours.mean[channel]),
                                    static_cast<float>(colours.deviation[channel]));
    }
}

}  // namespace

void make_crop(const Picture& picture, const CropParameters& parameters,
               std::span<std::uint8_t> out, Scratch& scratch) {
    std::ranges::copy(crop_bytes(picture, parameters, out.size(), scratch), out.begin());
}

void make_crop(const Picture& picture, const CropParameters& parameters,
               const formats::ColourSpec& colours, std::span<float> out, Scratch& scratch) {
    normalise(crop_bytes(picture, parameters, out.size(), scratch), colours, out);
}

void make_middle_crop(const Picture& picture, const MiddleCrop& crop, std::span<std::uint8_t> out,
                      Scratch& scratch) {
    std::ranges::copy(middle_bytes(picture, crop, out.size(), scratch), out.begin());
}

void make_middle_crop(const Picture& picture, const MiddleCrop& crop,
                      const formats::ColourSpec& colours, std::span<float> out, Scratch& scratch) {
    normalise(middle_bytes(picture, crop, out.size(), scratch), colours, out);
}

}  // namespace dedloc::pictures
