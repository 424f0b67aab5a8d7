// Gradients of weights from bf16 operands, added up in fp32: sum += by_outᵀ · x. libtorch's own
// products of bf16 matrices round their result to bf16.
#pragma once

#include <ATen/core/Tensor.h>

namespace dedloc::training::albert {

/// Whether this processor has the products that add_to() needs (oneDNN's, with AVX-512). Cost: a
/// load.
bool has_exact_sums();

/// The input of a linear map, laid out for the gradients of the weights that it is multiplied with.
/// Thread: any, with the compute threads of the calling one.
class GradientInput {
  public:
    /// Requires  has_exact_sums(); a contiguous matrix [tokens, in] of bf16
    explicit GradientInput(const at::Tensor& x);

    /// sum += by_outᵀ · x, added up in fp32. The number of threads changes no bit.
    ///
    /// Shapes  by_out [tokens, out], bf16, contiguous; sum [out, in], fp32, contiguous
    /// Cost    2 × tokens × out × in operations, and a copy of by_out
    void add_to(const at::Tensor& sum, const at::Tensor& by_out) const;

  private:
    std::int64_t tokens_;
    std::int64_t width_;
    at::Tensor pairs_;  // blocks of columns; rows of two tokens; columns
};

}  // namespace dedloc::training::albert
