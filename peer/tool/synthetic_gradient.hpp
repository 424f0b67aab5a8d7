// Gradients that every peer can compute again: a sample's gradient depends only on its peer's key
// and on the step. So the average of a round follows from its commit record.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::tool {

/// Fills in the gradient of each sample of this peer and step: for each element a pseudo-random
/// multiple of 2⁻²³ in [−1, 1). Cost: a quarter of a Philox block per element.
void fill_gradient(const PeerKey& peer, StepIndex step, std::span<float> out);

/// sum[i] = float(samples) × gradient[i]. Requires equal lengths (DEDLOC_CHECK).
void scale_gradient(std::span<const float> gradient, Samples samples, std::span<float> sum);

/// How many steps before its round a contributor has frozen its contribution; others: none.
using StepsBefore = std::map<PeerKey, std::uint64_t>;

/// The exact average of this record's round, bit for bit, or its first `elements`. Empty if no
/// member had samples. Requires `frozen` of at most the round's step. Cost: one gradient for each
/// contributor.
FloatVector expected_average(const CommitRecord& record, std::uint64_t elements,
                             const StepsBefore& frozen = {});

}  // namespace dedloc::tool
