// Computes everything in double and rounds to binary32 once, at the end. The powers of β are
// repeated multiplications that stop when the product underflows to 0. Only the coordinator's
// result counts, so equal bits on all machines are not required here.
#include "peer/state/update_scalars.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>

#include "peer/base/check.hpp"

namespace dedloc::state {
namespace {

using formats::Schedule;

bool is_usable(double value) {
    const auto narrow = static_cast<float>(value);
    return std::isfinite(narrow) && narrow >= 0;
}

bool is_correction(std::uint32_t bits) {
    const auto correction = std::bit_cast<float>(bits);
    return correction > 0 && correction <= 1;
}

std::uint32_t float_bits(double value) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

double power(double base, std::uint64_t exponent) {
    double product = 1;
    for (std::uint64_t i = 0; i < exponent && product > 0; ++i) product *= base;
    return product;
}

/// The learning rate after the warm-up. Requires warmup ≤ step < total.
double after_warmup(const OptimizerSettings& settings, std::uint64_t step) {
    const auto left = static_cast<double>(settings.total_steps - step) /
                      static_cast<double>(settings.total_steps - settings.warmup_steps);
    const double peak = settings.learning_rate;
    const double end = settings.final_learning_rate;
    switch (settings.schedule) {
        case Schedule::kLinear:
            return end + (peak - end) * left;
        case Schedule::kCosine:
            return end + (peak - end) * ((1 + std::cos(std::numbers::pi * (1 - left))) / 2);
        case Schedule::kConstant:
            return peak;
        case Schedule::kInverseSqrt:
            return peak * std::sqrt(static_cast<double>(
                                        std::max<std::uint64_t>(settings.warmup_steps, 1)) /
                                    static_cast<double>(step + 1));
    }
    DEDLOC_CHECK(false, "the schedule is unknown", static_cast<int>(settings.schedule));
    return 0;
}

}  // namespace

bool are_usable(const OptimizerSettings& settings) {
    const std::array all{settings.learning_rate,
                         settings.start_learning_rate,
                         settings.final_learning_rate,
                         settings.beta1,
                         settings.beta2,
                         settings.momentum,
                         settings.epsilon,
                         settings.trust,
                         settings.weight_decay,
                         settings.clip_norm,
                         settings.norm_limit};
    return std::all_of(all.begin(), all.end(), is_usable) && settings.beta1 < 1 &&
           settings.beta2 < 1 && settings.momentum < 1 && static_cast<float>(settings.epsilon) > 0;
}

bool are_usable(const UpdateScalars& scalars) {
    return is_usable(double{std::bit_cast<float>(scalars.learning_rate)}) &&
           is_correction(scalars.first_correction) && is_correction(scalars.second_correction);
}

double learning_rate_at(const OptimizerSettings& settings, StepIndex step) {
    const std::uint64_t k = step.value();
    if (k >= settings.total_steps) return 0;
    if (k < settings.warmup_steps) {
        return settings.start_learning_rate +
               (settings.learning_rate - settings.start_learning_rate) *
                   static_cast<double>(k + 1) / static_cast<double>(settings.warmup_steps);
    }
    return after_warmup(settings, k);
}

UpdateScalars update_scalars(const OptimizerSettings& settings, StepIndex step) {
    DEDLOC_CHECK(are_usable(settings), "the optimizer's settings are invalid",
                 settings.learning_rate, settings.beta1, settings.beta2, settings.momentum,
                 settings.epsilon, settings.trust, settings.weight_decay, settings.clip_norm);
    UpdateScalars scalars{.learning_rate = float_bits(learning_rate_at(settings, step))};
    if (formats::is_lamb(settings.optimizer)) {
        const std::uint64_t t = step.value() + 1;
        scalars.first_correction = float_bits(1 - power(settings.beta1, t));
        scalars.second_correction = float_bits(1 - power(settings.beta2, t));
    }
    return scalars;
}

}  // namespace dedloc::state
