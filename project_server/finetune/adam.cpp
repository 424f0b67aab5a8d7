#include "project_server/finetune/adam.hpp"

#include <cmath>

#include "peer/base/check.hpp"

namespace dedloc::finetune {
namespace {

constexpr double kFirstBeta = 0.9;
constexpr double kSecondBeta = 0.999;
constexpr double kEpsilon = 1e-8;
constexpr double kNormEpsilon = 1e-6;  // as torch.nn.utils.clip_grad_norm_

}  // namespace

void AdamW::step(std::span<float> parameters, std::span<const float> gradient, double learning_rate,
                 double weight_decay) {
    DEDLOC_CHECK(parameters.size() == first_.size() && gradient.size() == first_.size(),
                 "a moment for each parameter", parameters.size(), gradient.size());
    ++steps_;
    const auto steps = static_cast<double>(steps_);
    const double rate = learning_rate / (1 - std::pow(kFirstBeta, steps));
    const auto scale = static_cast<float>(1 / std::sqrt(1 - std::pow(kSecondBeta, steps)));
    const auto kept = static_cast<float>(1 - learning_rate * weight_decay);
    const auto b1 = static_cast<float>(kFirstBeta), rest1 = static_cast<float>(1 - kFirstBeta);
    const auto b2 = static_cast<float>(kSecondBeta), rest2 = static_cast<float>(1 - kSecondBeta);
    const auto step = static_cast<float>(rate);
    const auto epsilon = static_cast<float>(kEpsilon);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const float g = gradient[i];
        first_[i] = b1 * first_[i] + rest1 * g;
        second_[i] = b2 * second_[i] + rest2 * g * g;
        const float spread = std::sqrt(second_[i]) * scale + epsilon;
        parameters[i] = parameters[i] * kept - step * first_[i] / spread;
    }
}

double clip_norm(std::span<float> gradient, double limit) {
    double squares = 0;
    for (const float x : gradient) squares += static_cast<double>(x) * static_cast<double>(x);
    const double norm = std::sqrt(squares);
    if (norm <= limit) return norm;
    const auto scale = static_cast<float>(limit / (norm + kNormEpsilon));
    for (float& x : gradient) x *= scale;
    return norm;
}

}  // namespace dedloc::finetune
