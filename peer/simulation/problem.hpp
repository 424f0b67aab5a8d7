// What a simulated swarm learns: small enough to compute a sample in a microsecond, with +, −, ×
// and ÷ only, so that every machine gets the same bits. Samples are public: which one a number
// names follows from it and the data's seed, so anybody can compute a contribution again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/random.hpp"
#include "peer/state/model_state.hpp"

namespace dedloc::simulation {

class Problem {
  public:
    virtual ~Problem() = default;
    virtual std::vector<state::TensorRange> tensors() const = 0;
    virtual FloatVector initial_parameters() const = 0;
    /// Adds the gradient of a sample's loss to `sum` and returns the loss, in nats.
    /// Requires N parameters and N sums.
    virtual double add_gradient(std::span<const float> parameters, std::uint64_t sample,
                                std::span<float> sum) const = 0;
};

/// Sample i's loss is ½ ‖x − aᵢ‖² ÷ N: the best x is the mean of all aᵢ, and the smallest mean loss
/// half the variance of their elements. Only `active` elements differ between samples; the others
/// are 0, so that a long vector costs little.
class Quadratic final : public Problem {
  public:
    static constexpr float kOptimum = 3;  ///< the mean of every active element

    Quadratic(std::uint64_t elements, std::uint64_t data_seed, std::uint64_t active = 64);
    std::vector<state::TensorRange> tensors() const override;
    FloatVector initial_parameters() const override;
    double add_gradient(std::span<const float> parameters, std::uint64_t sample,
                        std::span<float> sum) const override;

  private:
    const std::uint64_t elements_;
    const std::uint64_t active_;
    const std::uint64_t data_seed_;
};

/// Two layers of perceptrons, h = f(A x), y = B h with f(z) = z ÷ (1 + |z|), and a squared error
/// against a fixed network of the same shape on random inputs.
class TinyNetwork final : public Problem {
  public:
    static constexpr std::size_t kInputs = 8;
    static constexpr std::size_t kHidden = 16;
    static constexpr std::size_t kOutputs = 4;
    static constexpr std::size_t kElements = kHidden * kInputs + kOutputs * kHidden;

    explicit TinyNetwork(std::uint64_t data_seed);
    std::vector<state::TensorRange> tensors() const override;
    FloatVector initial_parameters() const override;
    double add_gradient(std::span<const float> parameters, std::uint64_t sample,
                        std::span<float> sum) const override;

  private:
    const std::uint64_t data_seed_;
    const FloatVector teacher_;
};

/// The optimizer of every simulated run.
state::LambSettings simulated_lamb();

}  // namespace dedloc::simulation
