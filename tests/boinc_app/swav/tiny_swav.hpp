// A SwAV that is trained in seconds, and pictures with something to learn.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "boinc_app/swav/swav.hpp"
#include "peer/base/aligned_floats.hpp"
#include "peer/base/random.hpp"
#include "peer/formats/swav_layout.hpp"
#include "peer/state/run_state.hpp"

namespace dedloc::test {

/// A task with basic blocks, the small stem, and two sizes of crops.
inline formats::SwavSpec tiny_task() {
    formats::SwavSpec task;
    task.trunk = {.has_bottlenecks = false, .blocks = {1, 1}, .width = 8, .has_small_stem = true};
    task.hidden = 32;
    task.projection = 16;
    task.prototypes = 12;
    task.crops = {{.size = 16, .count = 2}, {.size = 10, .count = 2}};
    task.micro_batch = 24;
    return task;
}

/// A run with the task's tensors.
inline formats::RunFile swav_run(const formats::SwavSpec& task, std::uint64_t seed = 5) {
    formats::RunFile run;
    run.seed = seed;
    run.model = task;
    run.tensors = formats::swav_tensors(task);
    return run;
}

/// The parameters at the start of such a run.
inline AlignedFloats swav_start(const formats::RunFile& run) {
    const FloatVector values = state::initial_parameters(run);
    return {values.begin(), values.end()};
}

/// Crops of pictures, whose values it owns.
class PlayedCrops {
  public:
    /// Crops of `pictures` pictures. Each has one of eight textures: the direction and the colour
    /// of a wave. Its crops differ in phase, contrast and noise.
    PlayedCrops(const formats::SwavSpec& task, std::uint64_t pictures, std::uint64_t seed)
        : pictures_(pictures) {
        Random random{seed};
        std::vector<std::uint64_t> textures(pictures);
        for (std::uint64_t& texture : textures) texture = random.below(8);
        for (const formats::CropSpec& crop : task.crops) {
            FloatVector values;
            for (std::uint64_t i = 0; i < crop.count * pictures; ++i) {
                append(values, textures[i % pictures], crop.size, random);
            }
            sizes_.push_back(std::move(values));
        }
    }

    /// The crops, as those of a step.
    swav::CropBatch batch(std::uint64_t step = 0) const {
        return {.pictures = pictures_, .step = step, .sizes = {sizes_.begin(), sizes_.end()}};
    }

  private:
    static void append(FloatVector& values, std::uint64_t texture, std::uint64_t size,
                       Random& random) {
        const double turn = static_cast<double>(texture % 4) * std::acos(-1.0) / 4;
        const double phase = 6.28 * random.uniform();
        const double contrast = 0.7 + 0.6 * random.uniform();
        for (int channel = 0; channel < 3; ++channel) {
            const double weight = (texture / 4 == 0) == (channel == 0) ? 1.0 : 0.2;
            for (std::uint64_t at = 0; at < size * size; ++at) {
                const double way = std::cos(turn) * static_cast<double>(at % size) +
                                   std::sin(turn) * static_cast<double>(at / size);
                values.push_back(static_cast<float>(
                    contrast * weight * std::sin(1.2 * way + phase) + 0.3 * random.near_normal()));
            }
        }
    }

    const std::uint64_t pictures_;
    std::vector<FloatVector> sizes_;
};

}  // namespace dedloc::test
