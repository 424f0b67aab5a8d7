// Computes everything in double and rounds to binary32 once, at the end. The powers of β are
// repeated multiplications that stop when the product underflows to 0. Only the coordinator's
// result counts, so equal bits on all machines are not required here.
#include "peer/state/update_scalars.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "peer/base/check.hpp"

namespace dedloc::state {
namespace {

bool is_usable(double value) {
    const auto narrow = static_cast<float>(value);
    return std::isfinite(narrow) && narrow >= 0;
}

bool is_usable_bits(std::uint32_t bits) {
    return is_usable(double{std::bit_cast<float>(bits)});
}

std::uint32_t float_bits(double value) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

double power(double base, std::uint64_t exponent) {
    double product = 1;
    for (std::uint64_t i = 0; i < exponent && product > 0; ++i) product *= base;
    return product;
}

}  // namespace

bool are_usable(const LambSettings& settings) {
    const std::array all{settings.learning_rate, settings.beta1,        settings.beta2,
                         settings.epsilon,       settings.weight_decay, settings.clip_norm,
                         settings.norm_limit};
    return std::all_of(all.begin(), all.end(), is_usable) && settings.beta1 < 1 &&
           settings.beta2 < 1 && static_cast<float>(settings.epsilon) > 0;
}

bool are_usable(const UpdateScalars& scalars) {
    return is_usable_bits(scalars.learning_rate) && is_usable_bits(scalars.bias_correction);
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
    DEDLOC_CHECK(are_usable(settings), "the LAMB settings are invalid", settings.learning_rate,
                 settings.beta1, settings.beta2, settings.epsilon, settings.weight_decay,
                 settings.clip_norm, settings.norm_limit);
    const std::uint64_t t = step.value() + 1;
    const double correction =
        std::sqrt(1 - power(settings.beta2, t)) / (1 - power(settings.beta1, t));
    return {.learning_rate = float_bits(learning_rate_at(settings, step)),
            .bias_correction = float_bits(correction)};
}

}  // namespace dedloc::state
