#include "peer/state/update_scalars.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "peer/base/check.hpp"

namespace dedloc::state {
namespace {

std::uint32_t float_bits(double value) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

double power(double base, std::uint64_t exponent) {
    double product = 1;
    for (std::uint64_t i = 0; i < exponent && product > 0; ++i) product *= base;
    return product;
}

}  // namespace

bool are_usable(const UpdateScalars& scalars) {
    const std::array all{scalars.learning_rate_bits, scalars.bias_correction_bits,
                         scalars.beta1_bits,         scalars.one_minus_beta1_bits,
                         scalars.beta2_bits,         scalars.one_minus_beta2_bits,
                         scalars.epsilon_bits,       scalars.weight_decay_bits,
                         scalars.clip_norm_bits,     scalars.norm_limit_bits};
    // Finite and not negative: the sign bit clear and the exponent not all ones. A float's order is
    // then its bits' order.
    const bool all_finite =
        std::all_of(all.begin(), all.end(), [](std::uint32_t bits) { return bits < 0x7f800000u; });
    constexpr std::uint32_t kOne = 0x3f800000u;
    return all_finite && scalars.epsilon_bits > 0 && scalars.beta1_bits <= kOne &&
           scalars.one_minus_beta1_bits <= kOne && scalars.beta2_bits <= kOne &&
           scalars.one_minus_beta2_bits <= kOne;
}

double learning_rate_at(const LambSettings& settings, StepIndex step) {
    const std::uint64_t k = step.value();
    if (k >= settings.total_steps) return 0;
    if (k < settings.warmup_steps) {
        return settings.learning_rate * static_cast<double>(k + 1) /
               static_cast<double>(settings.warmup_steps);
    }
    return settings.learning_rate * static_cast<double>(settings.total_steps - k) /
           static_cast<double>(settings.total_steps - settings.warmup_steps);
}

UpdateScalars lamb_scalars(const LambSettings& settings, StepIndex step) {
    DEDLOC_CHECK(
        settings.beta1 >= 0 && settings.beta1 < 1 && settings.beta2 >= 0 && settings.beta2 < 1,
        "LAMB's decay rates must lie in [0, 1)", settings.beta1, settings.beta2);
    const std::uint64_t t = step.value() + 1;
    const double correction =
        std::sqrt(1 - power(settings.beta2, t)) / (1 - power(settings.beta1, t));
    const UpdateScalars scalars{
        .learning_rate_bits = float_bits(learning_rate_at(settings, step)),
        .bias_correction_bits = float_bits(correction),
        .beta1_bits = float_bits(settings.beta1),
        .one_minus_beta1_bits = float_bits(1 - settings.beta1),
        .beta2_bits = float_bits(settings.beta2),
        .one_minus_beta2_bits = float_bits(1 - settings.beta2),
        .epsilon_bits = float_bits(settings.epsilon),
        .weight_decay_bits = float_bits(settings.weight_decay),
        .clip_norm_bits = float_bits(settings.clip_norm),
        .norm_limit_bits = float_bits(settings.norm_limit),
    };
    DEDLOC_CHECK(are_usable(scalars), "these LAMB settings give scalars no peer can apply",
                 settings.learning_rate, settings.epsilon, settings.weight_decay,
                 settings.clip_norm, settings.norm_limit);
    return scalars;
}

}  // namespace dedloc::state
