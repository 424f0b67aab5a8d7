// Gradients are written out by hand. The order of operations is fixed and no libm function is used,
// so that contributions have the same bits on every machine; do not let it depend on a library.
// Every sample splits its own random stream from the data's seed by its number.
#include "peer/simulation/problem.hpp"

#include <algorithm>
#include <array>

#include "peer/base/check.hpp"

namespace dedloc::simulation {
namespace {

// Random streams.
constexpr std::uint64_t kParameters = 1;
constexpr std::uint64_t kTeacher = 2;
constexpr std::uint64_t kData = 3;

FloatVector normal_vector(std::uint64_t count, std::uint64_t seed, std::uint64_t stream) {
    FloatVector values(count);
    Random random = Random{seed}.split(stream);
    for (float& x : values) x = static_cast<float>(random.near_normal());
    return values;
}

/// The values of a forward pass for one input.
struct Forward {
    std::array<float, TinyNetwork::kHidden> before{};  ///< A x, the arguments of f
    std::array<float, TinyNetwork::kHidden> hidden{};
    std::array<float, TinyNetwork::kOutputs> output{};
};

constexpr std::size_t kSecondLayer = TinyNetwork::kHidden * TinyNetwork::kInputs;

Forward forward(std::span<const float> parameters, std::span<const float> input) {
    Forward result;
    for (std::size_t h = 0; h < TinyNetwork::kHidden; ++h) {
        float z = 0;
        for (std::size_t i = 0; i < TinyNetwork::kInputs; ++i) {
            z += parameters[h * TinyNetwork::kInputs + i] * input[i];
        }
        result.before[h] = z;
        result.hidden[h] = z / (1 + (z < 0 ? -z : z));
    }
    for (std::size_t o = 0; o < TinyNetwork::kOutputs; ++o) {
        for (std::size_t h = 0; h < TinyNetwork::kHidden; ++h) {
            result.output[o] +=
                parameters[kSecondLayer + o * TinyNetwork::kHidden + h] * result.hidden[h];
        }
    }
    return result;
}

}  // namespace

state::OptimizerSettings simulated_optimizer() {
    return {.learning_rate = 0.05, .warmup_steps = 2, .total_steps = 1'000, .weight_decay = 0};
}

// --- quadratic ---------------------------------------------------------------

Quadratic::Quadratic(std::uint64_t elements, std::uint64_t data_seed, std::uint64_t active)
    : elements_(elements), active_(std::min(elements, active)), data_seed_(data_seed) {
    DEDLOC_CHECK(elements_ >= 1 && active_ >= 1, "a problem has at least one parameter");
}

std::vector<state::TensorRange> Quadratic::tensors() const {
    return {{.offset = 0, .count = elements_, .decays = false}};
}

FloatVector Quadratic::initial_parameters() const {
    FloatVector values = normal_vector(active_, data_seed_, kParameters);
    values.resize(elements_);
    return values;
}

double Quadratic::add_gradient(std::span<const float> parameters, std::uint64_t sample,
                               std::span<float> sum) const {
    // Two random numbers per sample are cheap and still give any two samples different gradients:
    // one shifts the even elements of the target, the other the odd elements.
    Random random = Random{data_seed_, kData}.split(sample);
    const auto along = static_cast<float>(random.uniform() * 2 - 1);
    const auto shift = static_cast<float>(random.uniform() * 2 - 1);
    const auto scale = static_cast<float>(active_);
    double squares = 0;
    for (std::size_t i = 0; i < active_; ++i) {
        const float target = kOptimum + (i % 2 == 0 ? along : shift);
        const float difference = parameters[i] - target;
        sum[i] += difference / scale;
        squares += double{difference} * double{difference};
    }
    return squares / 2 / double{scale};
}

// --- perceptron --------------------------------------------------------------

TinyNetwork::TinyNetwork(std::uint64_t data_seed)
    : data_seed_(data_seed), teacher_(normal_vector(kElements, data_seed, kTeacher)) {}

std::vector<state::TensorRange> TinyNetwork::tensors() const {
    return {{.offset = 0, .count = kSecondLayer, .decays = true},
            {.offset = kSecondLayer, .count = kElements - kSecondLayer, .decays = true}};
}

FloatVector TinyNetwork::initial_parameters() const {
    FloatVector values = normal_vector(kElements, data_seed_, kParameters);
    for (float& x : values) x /= 4;
    return values;
}

double TinyNetwork::add_gradient(std::span<const float> parameters, std::uint64_t sample,
                                 std::span<float> sum) const {
    std::array<float, kInputs> input;
    Random random = Random{data_seed_, kData}.split(sample);
    for (float& x : input) x = static_cast<float>(random.uniform() * 2 - 1);
    const Forward wanted = forward(teacher_, input);
    const Forward made = forward(parameters, input);
    double loss = 0;
    std::array<float, kHidden> back{};  // derivative of the loss by each hidden value
    for (std::size_t o = 0; o < kOutputs; ++o) {
        const float difference = made.output[o] - wanted.output[o];
        loss += 0.5 * double{difference} * double{difference};
        for (std::size_t h = 0; h < kHidden; ++h) {
            const std::size_t weight = kSecondLayer + o * kHidden + h;
            sum[weight] += difference * made.hidden[h];
            back[h] += difference * parameters[weight];
        }
    }
    for (std::size_t h = 0; h < kHidden; ++h) {
        const float z = made.before[h];
        const float slope = 1 + (z < 0 ? -z : z);
        const float through = back[h] / (slope * slope);
        for (std::size_t i = 0; i < kInputs; ++i) sum[h * kInputs + i] += through * input[i];
    }
    return loss;
}

}  // namespace dedloc::simulation
