// Pictures are decoded and cropped in groups: the threads of a group take one picture after the
// other, and between groups the calling thread asks whether it is interrupted. A crop of area a and
// size s needs a picture whose side is s ÷ √a, else it would be enlarged.
#include "boinc_app/swav/crop_loader.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

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

/// Calls `each` with 0 … count − 1 on the compute threads, in groups. False when `is_interrupted`,
/// which is called between groups, returned true.
template <class Each>
bool in_groups(std::size_t count, const training::IsInterrupted& is_interrupted, const Each& each) {
    const auto group = kPicturesPerThread * static_cast<std::size_t>(at::get_num_threads());
    for (std::size_t begin = 0; begin < count; begin += group) {
        if (is_interrupted && is_interrupted()) return false;
        at::parallel_for(static_cast<std::int64_t>(begin),
                         static_cast<std::int64_t>(std::min(begin + group, count)), 1,
                         [&](std::int64_t from, std::int64_t to) {
                             for (std::int64_t k = from; k < to; ++k) {
                                 each(static_cast<std::size_t>(k));
                             }
                         });
    }
    return true;
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

pictures::Picture CropLoader::decode(const Random& sample, Weights weights) const {
    Random random = sample;
    const training::ShardPlace drawn = masses_.draw(random, weights);
    const auto picture = shards_[drawn.shard].picture(static_cast<std::size_t>(drawn.index));
    auto decoded = pictures::decode_jpeg(picture, {.min_side = min_side_});
    if (!decoded) {
        throw InputError{fmt::format("picture {} of shard {} cannot be used: {}", drawn.index,
                                     drawn.shard, decoded.reason().sentence)};
    }
    return std::move(decoded).value();
}

std::vector<pictures::CropParameters> CropLoader::draw(const Random& sample,
                                                       const pictures::Picture& picture) const {
    const pictures::Extent extent{picture.width, picture.height};
    std::vector<pictures::CropParameters> crops;
    for (const formats::CropSpec& crop : task_.crops) {
        for (std::size_t k = 0; k < crop.count; ++k) {
            crops.push_back(
                pictures::draw_crop(crop, task_.colours, extent, sample.split(crops.size() + 1)));
        }
    }
    return crops;
}

void CropLoader::load_picture(const Random& sample, Weights weights, std::size_t place,
                              std::size_t pictures, LoadedCrops& crops) const {
    thread_local pictures::Scratch scratch;
    const pictures::Picture decoded = decode(sample, weights);
    const auto drawn = draw(sample, decoded);
    auto next = drawn.begin();
    for (std::size_t size = 0; size < task_.crops.size(); ++size) {
        const formats::CropSpec& crop = task_.crops[size];
        const std::size_t elements = elements_of(crop);
        for (std::size_t k = 0; k < crop.count; ++k) {
            const std::span<float> all{crops.sizes[size]};
            pictures::make_crop(decoded, *next++, task_.colours,
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
    const bool is_whole = in_groups(pictures, is_interrupted, [&](std::size_t k) {
        load_picture(step.split(samples.first + k), samples.source_weights(), k, pictures, crops);
    });
    if (!is_whole) return std::nullopt;
    return crops;
}

std::optional<LoadedPictures> CropLoader::load_pictures(
    const training::SampleRange& samples, std::size_t max_bytes,
    const training::IsInterrupted& is_interrupted) const {
    const auto pictures = static_cast<std::size_t>(samples.count);
    const Random step = training::step_random(seed_, samples.peer, samples.step);
    LoadedPictures loaded;
    loaded.decoded.resize(pictures);
    std::vector<std::vector<pictures::CropParameters>> crops(pictures);
    std::atomic<std::size_t> bytes{0};
    const bool is_whole = in_groups(pictures, is_interrupted, [&](std::size_t k) {
        if (bytes > max_bytes) return;
        const Random sample = step.split(samples.first + k);
        pictures::Picture decoded = decode(sample, samples.source_weights());
        if ((bytes += decoded.rgb.size()) > max_bytes) return;
        crops[k] = draw(sample, decoded);
        loaded.decoded[k] = std::move(decoded);
    });
    if (!is_whole) return std::nullopt;
    if (bytes > max_bytes) return LoadedPictures{.fits = false};
    for (const auto& some : crops)
        loaded.crops.insert(loaded.crops.end(), some.begin(), some.end());
    return loaded;
}

}  // namespace dedloc::swav
