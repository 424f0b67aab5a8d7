// The optimizer's settings, and the scalars of one update that follow from them and the step.
// Computing these scalars needs libm or long products, which differ between machines or take time.
// So only the coordinator computes them, the commit carries their bits (UpdateScalars,
// peer/wire/types.hpp), and every peer applies those bits.
#pragma once

#include <cstdint>

#include "peer/base/units.hpp"
#include "peer/formats/optimizer.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::state {

/// The optimizer's part of a run file: the same for all peers and all steps. Peers round the
/// constants of elements to binary32 (1 − β after the subtraction in double), which needs no libm;
/// trust, its ε and the norm limit stay binary64, as the run file has them.
struct OptimizerSettings {
    formats::Optimizer optimizer = formats::Optimizer::kLamb;  ///< which one
    formats::Schedule schedule = formats::Schedule::kLinear;   ///< after the warm-up
    double learning_rate = 0.00176;  ///< peak learning rate, reached at the end of the warm-up
    std::uint64_t warmup_steps = 0;  ///< steps of linear warm-up
    double start_learning_rate = 0;  ///< start of the warm-up
    double final_learning_rate = 0;  ///< end of a linear or cosine schedule
    std::uint64_t total_steps = 1;   ///< the learning rate is 0 from this step on
    double beta1 = 0.9;              ///< LAMB: decay of the first moment
    double beta2 = 0.999;            ///< LAMB: decay of the second moment
    double momentum = 0.9;           ///< SGD: decay of the momentum
    double epsilon = 1e-6;           ///< LAMB: added to √v; LARC: added to the rate's divisor
    double trust = 0.001;            ///< LARC: the trust coefficient
    double weight_decay = 0.01;      ///< decay of tensors with TensorRange::decays
    double clip_norm = 1.0;          ///< maximum norm of the average; 0: no clipping
    double norm_limit = 10'000;      ///< LAMB as DeDLOC: maximum of a tensor's norm in its ratio
    bool operator==(const OptimizerSettings&) const = default;
};

/// Whether the settings are valid: all finite in binary32 and not negative, both β and the momentum
/// below 1, ε above 0.
[[nodiscard]] bool are_usable(const OptimizerSettings& settings);

/// Whether the scalars are valid: the learning rate finite and not negative, both corrections above
/// 0 and at most 1. Scalars from the wire are checked with this before they are used.
[[nodiscard]] bool are_usable(const UpdateScalars& scalars);

/// The learning rate of the update of state `step`: linear warm-up, then the schedule.
///
///     step < warmup    start + (peak − start) × (step + 1) ÷ warmup
///     step < total     with done = (step − warmup) ÷ (total − warmup):
///         linear           final + (peak − final) × (1 − done)
///         cosine           final + (peak − final) × (1 + cos(π done)) ÷ 2
///         constant         peak
///         inverse_sqrt     peak × √(max(warmup, 1) ÷ (step + 1))
///     else             0
///
/// Departs from DeDLOC's schedules, whose first update has the rate `start`: the warm-up is one
/// step ahead of theirs, so that no update has a rate of 0.
double learning_rate_at(const OptimizerSettings& settings, StepIndex step);

/// The scalars of the update that turns state `step` into state `step + 1` (so t = step + 1). Only
/// the coordinator calls this. SGD has no corrections: both are 1.
///
/// Requires  usable settings (aborts)
/// Cost      O(step) for LAMB, as powers are repeated multiplications in double; a few ms at step
///           1,000,000
UpdateScalars update_scalars(const OptimizerSettings& settings, StepIndex step);

}  // namespace dedloc::state
