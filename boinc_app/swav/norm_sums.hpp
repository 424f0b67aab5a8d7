// Mean and variance for batch norms, computed by the project over pictures of its choice. No peer
// keeps running statistics: in training a batch norm uses the statistics of its own batch.
#pragma once

#include <cstdint>
#include <vector>

namespace dedloc::swav {

/// Statistics of the values that one batch norm sees, by channel.
struct NormStatistics {
    std::uint64_t count = 0;       ///< values of each channel
    std::vector<double> mean;      ///< mean of a channel
    std::vector<double> variance;  ///< their mean squared distance from it; PyTorch's running_var
                                   ///< is this · count ÷ (count − 1)
};

/// Sums from which the statistics of all batch norms follow, exact but for double's rounding. Sums
/// of parts of the pictures, merged in a fixed order, give the same bits on every machine that
/// computes the same features.
class NormSums {
  public:
    /// The sums of one batch norm over one batch, by channel.
    struct Layer {
        std::uint64_t count = 0;      ///< values of each channel
        std::vector<double> sum;      ///< Σ of the values
        std::vector<double> squares;  ///< Σ of their squares
    };

    /// Adds the next batch norm of a pass. Requires as many sums as squares (aborts).
    void append(Layer layer);
    /// Adds those of other pictures. Requires the same layers, or none here (aborts).
    void merge(const NormSums& other);
    /// Those of each batch norm, in the order of the parameters. Requires count ≥ 1 (aborts).
    std::vector<NormStatistics> statistics() const;

  private:
    std::vector<Layer> layers_;
};

}  // namespace dedloc::swav
