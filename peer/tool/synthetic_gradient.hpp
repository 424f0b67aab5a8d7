// Gradients that anybody can compute again: the one of a sample depends on whose it is and on the
// step, and on nothing else. So the average of a round follows from its commit record alone.
#pragma once

#include <cstdint>
#include <span>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::tool {

/// Any sample's gradient: multiples of 2⁻²³ in [−1, 1), a random number for each element from the
/// key and the step. Cost: a third of a Philox block an element.
void fill_gradient(const PeerKey& peer, StepIndex step, std::span<float> out);

/// sum[i] = float(samples) × gradient[i]. Requires as many elements (aborts).
void scale_gradient(std::span<const float> gradient, Samples samples, std::span<float> sum);

/// What the members of this record must have averaged, bit for bit. Nothing if nobody of them had
/// samples. Cost: a gradient for each of them.
FloatVector expected_average(const CommitRecord& record, std::uint64_t elements);

}  // namespace dedloc::tool
