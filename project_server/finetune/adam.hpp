// AdamW on plain vectors, as torch.optim.AdamW computes it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dedloc::finetune {

/// The optimizer's moments. Parameters whose gradient is always 0 stay as they are without decay.
class AdamW {
  public:
    /// Allocates the moments of this number of parameters.
    explicit AdamW(std::size_t count) : first_(count), second_(count) {}

    /// One step with β = (0.9, 0.999) and ε = 1e-8. Requires as many elements as parameters
    /// (aborts).
    void step(std::span<float> parameters, std::span<const float> gradient, double learning_rate,
              double weight_decay);

  private:
    std::vector<float> first_;
    std::vector<float> second_;
    std::uint64_t steps_ = 0;
};

/// Scales a gradient whose Euclidean norm is above `limit` down to it; the norm before.
double clip_norm(std::span<float> gradient, double limit);

}  // namespace dedloc::finetune
