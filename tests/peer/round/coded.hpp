// A contribution to encode, and the numbers that a piece decodes to.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "peer/round/codec.hpp"

namespace dedloc::round {

/// A contribution of finite numbers.
inline Contribution contribution_of(FloatVector sum, std::uint64_t samples = 1) {
    return {.samples = Samples{samples},
            .loss_sum = 0,
            .is_finite = true,
            .sum = std::make_shared<FloatVector>(std::move(sum))};
}

/// The numbers of a piece.
inline FloatVector decoded(const wire::Elements& elements) {
    FloatVector values(count_of(elements));
    decode(elements, values);
    return values;
}

}  // namespace dedloc::round
