// From shards of pictures to the crops of a micro-batch, by public seeds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "boinc_app/pictures/crop_parameters.hpp"
#include "boinc_app/pictures/picture.hpp"
#include "boinc_app/swav/swav.hpp"
#include "boinc_app/training/shard_masses.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/base/bytes.hpp"
#include "peer/formats/picture_shard.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::swav {

/// The crops of a micro-batch, in memory.
struct LoadedCrops {
    std::vector<FloatVector> sizes;  ///< for each size [count · pictures, 3, size, size]

    /// What the model takes; valid while this lives.
    CropBatch batch(std::uint64_t pictures, StepIndex step) const;
};

/// Decoded pictures, and the crops that are to be made of them.
struct LoadedPictures {
    /// Whether they have at most as many bytes as was allowed; if not, nothing else is there.
    bool fits = true;
    std::vector<pictures::Picture> decoded{};  ///< one for each sample
    /// [pictures, crops of a picture]: those of the first size, then those of the next.
    std::vector<pictures::CropParameters> crops{};
};

/// Draws pictures, decodes each once, and makes its crops.
///
/// Sample i of a peer's step draws from step_random(…).split(i): first its picture, each one as
/// often as its shard's weight says, then crop k from split(k + 1). All crops of a picture are made
/// from the smallest DCT scale that enlarges no crop.
///
/// Thread   any, one at a time; computes with torch's compute threads of the calling one
/// Memory   the crops; for each thread a picture and its buffers
class CropLoader {
  public:
    /// `run` and `shards` must outlive it. Errors: InputError without a picture.
    CropLoader(const formats::RunFile& run, std::span<const formats::PictureShard> shards);

    /// The crops of these samples, with the bits of every device. Nothing when `is_interrupted`,
    /// which is called between groups of pictures, returns true. Errors: InputError: a picture that
    /// cannot be decoded.
    std::optional<LoadedCrops> load(const training::SampleRange& samples,
                                    const training::IsInterrupted& is_interrupted) const;

    /// The pictures of these samples and the parameters of their crops, for a device that makes
    /// them. Pictures of more than `max_bytes` together are not kept: strangers made them, and a
    /// long one has hundreds of megabytes. Otherwise as load(). Memory: the pictures, and one more
    /// for each thread.
    std::optional<LoadedPictures> load_pictures(
        const training::SampleRange& samples, std::size_t max_bytes,
        const training::IsInterrupted& is_interrupted) const;

    /// The run's task.
    const formats::SwavSpec& task() const { return task_; }

  private:
    /// Weights of the sources, as ShardMasses::draw takes them.
    using Weights = std::span<const std::uint64_t>;
    /// The picture that a sample draws.
    pictures::Picture decode(const Random& sample, Weights weights) const;
    /// The crops of a picture in their order.
    std::vector<pictures::CropParameters> draw(const Random& sample,
                                               const pictures::Picture& picture) const;
    void load_picture(const Random& sample, Weights weights, std::size_t place,
                      std::size_t pictures, LoadedCrops& crops) const;

    const formats::SwavSpec& task_;
    const std::uint64_t seed_;
    const std::span<const formats::PictureShard> shards_;
    std::uint32_t min_side_ = 1;  ///< decoded pictures are that large, so that no crop is enlarged
    training::ShardMasses masses_;  ///< things are pictures
};

}  // namespace dedloc::swav
