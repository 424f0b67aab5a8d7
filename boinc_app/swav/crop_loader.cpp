// Pictures are decoded and cropped in groups: the threads of a group take one picture after the
// other, and between groups the calling thread asks whether it is interrupted. A crop of area a and
// size s needs a picture whose side is s ÷ √a, else it would be enlarged.
#include "boinc_app/swav/crop_loader.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "boinc_app/pictures/crop_parameters.hpp"
#include "boinc_app/pictures/crops.hpp"
#include "boinc_app/pictures/jpeg_decoder.hpp"
#include "peer/base/check.hpp"
#include "peer/base/error.hpp"

namespace dedloc::swav {
namespace {

constexpr std::size_t kColours = 3;
/// Pictures of a group for each thread.
constexpr std::size_t kPicturesPerThread = 4;

std::size_t elements_of(const formats::CropSpec& crop) {
    return static_cast<std::size_t>(kColours * crop.size * crop.size);
}

}  // namespace

CropBatch LoadedCrops::batch(std::uint64_t pictures, StepIndex step) const {
    return {.pictures = pictures, .step = step.value(), .sizes = {sizes.begin(), sizes.end()}};
}

CropLoader::CropLoader(const formats::RunFile& run, std::span<const formats::PictureShard> shards)
    : task_(std::get<formats::SwavSpec>(run.model)),
      seed_(run.seed),
      shards_(shards),
      masses_(run.sources) {
    for (const formats::CropSpec& crop : task_.crops) {
        const double side = std::ceil(static_cast<double>(crop.size) / std::sqrt(crop.min_area));
        min_side_ = std::max(min_side_, static_cast<std::uint32_t>(side));
    }
    for (const formats::PictureShard& shard : shards) {
        masses_.add(shard.weight, shard.picture_count(), shard.source);
    }
    if (masses_.is_empty()) throw InputError{"there is no picture"};
}

void CropLoader::load_picture(const Random& sample, const training::ShardPlace& drawn,
                              std::size_t place, std::size_t pictures, LoadedCrops& crops) const {
    thread_local pictures::Scratch scratch;
    const auto picture = shards_[drawn.shard].picture(static_cast<std::size_t>(drawn.index));
    const auto decoded = pictures::decode_jpeg(picture, {.min_side = min_side_});
    if (!decoded) {
        throw InputError{fmt::format("picture {} of shard {} cannot be used: {}", drawn.index,
                                     drawn.shard, decoded.reason().sentence)};
    }
    const pictures::Extent extent{decoded.value().width, decoded.value().height};
    std::uint64_t number = 0;
    for (std::size_t size = 0; size < task_.crops.size(); ++size) {
        const formats::CropSpec& crop = task_.crops[size];
        const std::size_t elements = elements_of(crop);
        for (std::size_t k = 0; k < crop.count; ++k) {
            const auto parameters =
                pictures::draw_crop(crop, task_.colours, extent, sample.split(++number));
            const std::span<float> all{crops.sizes[size]};
            pictures::make_crop(decoded.value(), parameters, task_.colours,
                                all.subspan((k * pictures + place) * elements, elements), scratch);
        }
    }
}

std::optional<LoadedCrops> CropLoader::load(const training::SampleRange& samples,
                                            const training::IsInterrupted& is_interrupted) const {
    const auto pictures = static_cast<std::size_t>(samples.count);
    const Random step = training::step_random(seed_, samples.peer, samples.step);
    LoadedCrops crops;
    for (const formats::CropSpec& crop : task_.crops) {
        crops.sizes.emplace_back(pictures * static_cast<std::size_t>(crop.count) *
                                 elements_of(crop));
    }
    const auto group = kPicturesPerThread * static_cast<std::size_t>(at::get_num_threads());
    for (std::size_t begin = 0; begin < pictures; begin += group) {
        if (is_interrupted && is_interrupted()) return std::nullopt;
        const std::size_t end = std::min(begin + group, pictures);
        at::parallel_for(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end), 1,
                         [&](std::int64_t from, std::int64_t to) {
                             for (auto k = static_cast<std::size_t>(from);
                                  k < static_cast<std::size_t>(to); ++k) {
                                 const Random sample = step.split(samples.first + k);
                                 Random random = sample;
                                 const auto drawn = masses_.draw(random, samples.source_weights());
                                 load_picture(sample, drawn, k, pictures, crops);
                             }
                         });
    }
    return crops;
}

}  // namespace dedloc::swav
