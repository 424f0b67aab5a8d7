// The learning problems of simulated swarms. They are small enough to compute a sample's gradient
// in a microsecond, and use +, −, × and ÷ only, so that every machine gets the same bits. A sample
// follows from its number and the data's seed, so any contribution can be recomputed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/random.hpp"
#include "peer/state/model_state.hpp"

namespace dedloc::simulation {

/// A model with a data set and a loss.
class Problem {
  public:
    virtual ~Problem() = default;
    /// The model's tensors; they cover all N parameters.
    virtual std::vector<state::TensorRange> tensors() const = 0;
    /// The N parameters at step 0.
    virtual FloatVector initial_parameters() const = 0;
    /// Adds the gradient of a sample's loss to `sum` and returns the loss, in nats.
    /// Requires N elements in both vectors.
    virtual double add_gradient(std::span<const float> parameters, std::uint64_t sample,
                                std::span<float> sum) const = 0;
};

/// Sample i's loss is ½ ‖x − aᵢ‖² ÷ A over A active elements. The optimum is the mean of all aᵢ,
/// and the least mean loss is half the variance of their elements. The other elements are always 0,
/// so that a long vector costs little.
class Quadratic final : public Problem {
  public:
    static constexpr float kOptimum = 3;  ///< the optimum of every active element

    /// A vector of `elements` parameters, of which at most `active` are active.
    Quadratic(std::uint64_t elements, std::uint64_t data_seed, std::uint64_t active = 64);
    // The Problem interface.
    std::vector<state::TensorRange> tensors() const override;
    FloatVector initial_parameters() const override;
    double add_gradient(std::span<const float> parameters, std::uint64_t sample,
                        std::span<float> sum) const override;

  private:
    const std::uint64_t elements_;
    const std::uint64_t active_;
    const std::uint64_t data_seed_;
};

/// A perceptron with one hidden layer, h = f(A x), y = B h with f(z) = z ÷ (1 + |z|). The loss is
/// half the squared error against a fixed network of the same shape (the teacher) on random inputs.
class TinyNetwork final : public Problem {
  public:
    static constexpr std::size_t kInputs = 8;   ///< elements of x
    static constexpr std::size_t kHidden = 16;  ///< elements of h
    static constexpr std::size_t kOutputs = 4;  ///< elements of y
    /// Number of parameters, N.
    static constexpr std::size_t kElements = kHidden * kInputs + kOutputs * kHidden;

    /// The seed draws the inputs, the teacher and the initial parameters.
    explicit TinyNetwork(std::uint64_t data_seed);
    // The Problem interface.
    std::vector<state::TensorRange> tensors() const override;
    FloatVector initial_parameters() const override;
    double add_gradient(std::span<const float> parameters, std::uint64_t sample,
                        std::span<float> sum) const override;

  private:
    const std::uint64_t data_seed_;
    const FloatVector teacher_;
};

/// The optimizer settings of every simulated run.
state::OptimizerSettings simulated_optimizer();

}  // namespace dedloc::simulation
