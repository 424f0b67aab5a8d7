// Batch norm with three sources of statistics: its own batch, the same while their sums are taken,
// or given ones.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "boinc_app/swav/norm_sums.hpp"

namespace dedloc::swav {

/// Weight and bias of one linear map or one batch norm.
struct Affine {
    at::Tensor weight;  ///< [outputs, inputs], or [channels]
    at::Tensor bias;    ///< [outputs], or [channels]
};

/// The batch norms of one pass, which come in the order of the parameters.
class BatchNorms {
  public:
    /// Each batch norm uses the mean and variance of its own batch.
    BatchNorms() = default;
    /// The same, and adds the sums to `sums`, which must outlive the pass.
    explicit BatchNorms(NormSums& sums) : sums_(&sums) {}
    /// Each batch norm uses the given ones, which must outlive the pass.
    explicit BatchNorms(const std::vector<NormStatistics>& given) : given_(&given) {}

    /// weight · (x − mean) ÷ √(variance + 10⁻⁵) + bias of the pass's next batch norm, for x
    /// [rows, channels] or [rows, channels, height, width]. Requires statistics for it, if they are
    /// given (aborts).
    at::Tensor apply(const at::Tensor& x, const Affine& gain);

  private:
    NormSums* sums_ = nullptr;
    const std::vector<NormStatistics>* given_ = nullptr;
    std::size_t next_ = 0;  // number of the next batch norm
};

}  // namespace dedloc::swav
