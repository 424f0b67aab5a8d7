// Constants of elements are rounded to binary32 here, once for the host and each device; 1 − β is
// rounded after the subtraction in double.
#include "peer/state/update_arguments.hpp"

#include <bit>
#include <limits>

namespace dedloc::state {
namespace {

using formats::Optimizer;

double from_bits(std::uint32_t bits) {
    return double{std::bit_cast<float>(bits)};
}

}  // namespace

kernels::LambScalars lamb_arguments(const OptimizerSettings& settings, const UpdateScalars& scalars,
                                    float clip_factor) {
    const bool is_nvidia = settings.optimizer == Optimizer::kLambNvidia;
    return {.element = {.beta1 = static_cast<float>(settings.beta1),
                        .one_minus_beta1 = static_cast<float>(1 - settings.beta1),
                        .beta2 = static_cast<float>(settings.beta2),
                        .one_minus_beta2 = static_cast<float>(1 - settings.beta2),
                        .epsilon = static_cast<float>(settings.epsilon),
                        .weight_decay = static_cast<float>(settings.weight_decay),
                        .clip_factor = clip_factor,
                        .first_correction = std::bit_cast<float>(scalars.first_correction),
                        .second_correction = std::bit_cast<float>(scalars.second_correction)},
            .learning_rate = from_bits(scalars.learning_rate),
            .norm_limit = is_nvidia ? std::numeric_limits<double>::max() : settings.norm_limit,
            .variant = is_nvidia ? kernels::LambVariant::kMomentsDebiased
                                 : kernels::LambVariant::kStepDebiased};
}

kernels::SgdScalars sgd_arguments(const OptimizerSettings& settings, const UpdateScalars& scalars,
                                  float clip_factor) {
    const bool has_larc = settings.optimizer == Optimizer::kSgdLarc;
    return {.element = {.learning_rate = std::bit_cast<float>(scalars.learning_rate),
                        .momentum = static_cast<float>(settings.momentum),
                        .weight_decay = static_cast<float>(settings.weight_decay),
                        .clip_factor = clip_factor},
            .trust = has_larc ? settings.trust : 0,
            .epsilon = has_larc ? settings.epsilon : 0};
}

}  // namespace dedloc::state
