// The kernels' definitions once more, written for certainty instead of speed: one element and one
// operation at a time, every result forced through memory, so that no compiler flag can merge two
// roundings. Shares no code with kernels/.
#pragma once

#include <cstddef>
#include <vector>

namespace dedloc::tests::slow {

using Floats = std::vector<float>;

/// Σ x² by the rule that kernels/reduction.hpp states.
double tree_of_squares(const Floats& values);

struct LambInput {
    float beta1, one_minus_beta1, beta2, one_minus_beta2, epsilon, weight_decay, clip_factor;
    double step_size, norm_limit;
};
/// One LAMB update in place.
void lamb(Floats& p, Floats& m, Floats& v, const Floats& gradient, const LambInput& input);

}  // namespace dedloc::tests::slow
