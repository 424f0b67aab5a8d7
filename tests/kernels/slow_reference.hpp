// A second implementation of the kernels, written for certainty instead of speed: one element and
// one operation at a time, every result forced through memory, so that no compiler flag can merge
// two roundings. Shares no code with kernels/.
#pragma once

#include <cstddef>
#include <vector>

namespace dedloc::tests::slow {

using Floats = std::vector<float>;

/// Σ x² by the rule in kernels/reduction.hpp.
double tree_of_squares(const Floats& values);

/// sum ← sum + scale × gradient; the terms' squares by the rule.
double accumulate(Floats& sum, const Floats& gradient, float scale);

/// (parts[0] + parts[1] + …) ÷ samples
Floats mean(const std::vector<Floats>& parts, float samples);

float added(float a, float b);
float subtracted(float a, float b);
float multiplied(float a, float b);

/// Scalars of both variants; in A the corrections are 1.
struct LambInput {
    float beta1, one_minus_beta1, beta2, one_minus_beta2, epsilon, weight_decay, clip_factor;
    double step_size, norm_limit;
    bool debiases_moments = false;
    float first_correction = 1, second_correction = 1;
    bool adapts = true;
};
/// One LAMB update in place.
void lamb(Floats& p, Floats& m, Floats& v, const Floats& gradient, const LambInput& input);

struct SgdInput {
    float learning_rate, momentum, weight_decay, clip_factor;
    double trust, epsilon;
};
/// One update of SGD with momentum, and of LARC if trust is not 0, in place.
void sgd(Floats& p, Floats& b, const Floats& gradient, const SgdInput& input);

/// Scales one row to length 1.
void unit_row(Floats& row);

}  // namespace dedloc::tests::slow
