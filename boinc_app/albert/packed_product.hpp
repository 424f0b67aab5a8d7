// Products with weights in bf16 or fp32 in the layout of oneDNN's kernels on a processor.
// libtorch's own products copy a weight into such a layout at each use; a packed one serves all
// uses of a shared layer.
#pragma once

#include <ATen/core/Tensor.h>

namespace dedloc::training::albert {

/// Whether this processor has products with packed weights of a type, bf16 or fp32 (oneDNN's, with
/// AVX-512). Cost: a load.
bool packs_weights(at::ScalarType type = at::kBFloat16);

/// The weight [out, in] in oneDNN's layout: an opaque tensor for times_packed() alone.
///
/// Requires  packs_weights() of its type; on the processor
/// Cost      a copy of the weight
at::Tensor packed(const at::Tensor& weight);

/// x · weightᵀ [+ bias] [+ other] for a packed weight; in bf16 rounded once, with the bits of
/// at::linear(). One of `bias` and `other` must be undefined.
///
/// Shapes  x [..., in], bias [out], other [..., out]; all of the weight's type
at::Tensor times_packed(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {},
                        const at::Tensor& other = {});

}  // namespace dedloc::training::albert
