// The LAMB update that both kernel benchmarks measure, so that their tables are comparable.
#pragma once

#include "kernels/lamb.hpp"

namespace dedloc::bench {

inline kernels::LambScalars lamb_scalars(kernels::LambVariant variant) {
    return {.element = {.beta1 = 0.9f,
                        .one_minus_beta1 = 0.1f,
                        .beta2 = 0.999f,
                        .one_minus_beta2 = 0.001f,
                        .epsilon = 1e-6f,
                        .weight_decay = 0.01f,
                        .first_correction = 0.5f,
                        .second_correction = 0.01f},
            .learning_rate = 1e-3,
            .norm_limit = 10'000,
            .variant = variant};
}

}  // namespace dedloc::bench
