// The LAMB update that both kernel benchmarks measure, so that their tables are comparable.
#pragma once

#include "kernels/lamb.hpp"

namespace dedloc::bench {

inline kernels::LambScalars lamb_scalars(kernels::LambVariant variant) {
    const bool is_nvidia = variant == kernels::LambVariant::kMomentsDebiased;
    return {.element = {.beta1 = 0.9f,
                        .one_minus_beta1 = 0.1f,
                        .beta2 = 0.999f,
                        .one_minus_beta2 = 0.001f,
                        .epsilon = 1e-6f,
                        .weight_decay = 0.01f,
                        .first_correction = is_nvidia ? 0.5f : 1.0f,
                        .second_correction = is_nvidia ? 0.01f : 1.0f},
            .step_size = 1e-3,
            .norm_limit = 10'000,
            .variant = variant};
}

}  // namespace dedloc::bench
