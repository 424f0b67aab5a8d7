// The part of a picture from which the features of a SwAV are computed, when they are measured.
#pragma once

#include <cstdint>

#include "peer/formats/swav_spec.hpp"

namespace dedloc::formats {

/// A square in the middle of a picture that was resized.
struct EvaluationCrop {
    std::uint64_t shorter_side = 0;  ///< pixels of the resized picture's shorter side
    std::uint64_t size = 0;          ///< pixels of each side of the square
    bool operator==(const EvaluationCrop&) const = default;
};

/// It has the first size of crops. With a small stem it is the largest square, else 7/8 of its
/// side, as is usual for ImageNet (224 of 256).
inline EvaluationCrop evaluation_crop(const SwavSpec& task) {
    const std::uint64_t size = task.crops.front().size;
    return {.shorter_side = task.trunk.has_small_stem ? size : (size * 8 + 3) / 7, .size = size};
}

}  // namespace dedloc::formats
