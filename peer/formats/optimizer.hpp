// The optimizers and schedules that a run can choose, and their settings in a run file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dedloc::formats {

/// How parameters follow from averaged gradients: kernels/lamb.hpp and kernels/sgd.hpp.
enum class Optimizer : std::uint8_t {
    kLamb,        ///< LAMB as DeDLOC ran it (torch_optimizer.Lamb): the step is de-biased
    kLambNvidia,  ///< LAMB as NVIDIA's apex: the moments are de-biased
    kSgd,         ///< SGD with momentum
    kSgdLarc,     ///< SGD with momentum inside LARC, as DeDLOC ran it for SwAV
};
/// Names of the optimizers in run files and on command lines.
inline constexpr std::array<const char*, 4> kOptimizerNames{"lamb", "lamb_nvidia", "sgd",
                                                            "sgd_larc"};

/// The learning rate after its linear warm-up. Every schedule ends with the run.
enum class Schedule : std::uint8_t {
    kLinear,       ///< linearly down to the final one
    kCosine,       ///< half a cosine, down to the final one
    kConstant,     ///< stays at the peak
    kInverseSqrt,  ///< falls with the inverse square root of the step
};
/// Names of the schedules in run files and on command lines.
inline constexpr std::array<const char*, 4> kScheduleNames{"linear", "cosine", "constant",
                                                           "inverse_sqrt"};

/// The name of an optimizer or of a schedule.
inline const char* name_of(Optimizer optimizer) {
    return kOptimizerNames[static_cast<std::size_t>(optimizer)];
}
inline const char* name_of(Schedule schedule) {
    return kScheduleNames[static_cast<std::size_t>(schedule)];
}
/// The optimizer or schedule with this name; nothing for any other text.
std::optional<Optimizer> optimizer_named(std::string_view name);
std::optional<Schedule> schedule_named(std::string_view name);

/// Whether the schedule falls to a final learning rate.
inline bool has_final_rate(Schedule schedule) {
    return schedule == Schedule::kLinear || schedule == Schedule::kCosine;
}

/// Whether it is a variant of LAMB, which has two moments; SGD has one.
inline bool is_lamb(Optimizer optimizer) {
    return optimizer == Optimizer::kLamb || optimizer == Optimizer::kLambNvidia;
}

/// Vectors of N floats in a state: the parameters and the moments.
inline std::uint32_t state_vectors(Optimizer optimizer) {
    return is_lamb(optimizer) ? 3 : 2;
}

/// The optimizer of a run and its schedule. A run file contains only the fields that its optimizer
/// uses; the others keep their defaults.
struct OptimizerSpec {
    Optimizer name = Optimizer::kLamb;      ///< which one
    Schedule schedule = Schedule::kLinear;  ///< not in the file if linear
    double learning_rate = 0.00176;         ///< the peak
    std::uint64_t warmup_steps = 0;         ///< steps until the peak is reached
    double start_learning_rate = 0;         ///< start of the warm-up; not in the file if 0
    double final_learning_rate = 0;         ///< end of the schedule, if it has_final_rate; not in
                                            ///< the file if 0
    double beta1 = 0.9;                     ///< LAMB: decay of the first moment
    double beta2 = 0.999;                   ///< LAMB: decay of the second moment
    double momentum = 0.9;                  ///< SGD: decay of the momentum
    double epsilon = 1e-6;                  ///< LAMB: added to the root of the second moment. LARC:
                                            ///< added to the divisor of the rate
    double trust = 0.001;                   ///< LARC: the trust coefficient
    double weight_decay = 0.01;             ///< for tensors with TensorSpec::decays
    double clip_norm = 1.0;  ///< largest norm of the averaged gradient; 0: no clipping
    bool operator==(const OptimizerSpec&) const = default;
};

/// The settings with which an optimizer is usually run, without warm-up: LAMB as DeDLOC trained
/// ALBERT, SGD as ResNets are trained, SGD with LARC as DeDLOC trained SwAV.
OptimizerSpec usual_settings(Optimizer optimizer);

}  // namespace dedloc::formats
