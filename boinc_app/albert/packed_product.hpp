// Products with bf16 weights in the layout of oneDNN's kernels on a processor. libtorch's own
// products copy a weight into that layout at each use; a packed one serves all uses of a shared
// layer.
#pragma once

#include <ATen/core/Tensor.h>

namespace dedloc::training::albert {

/// Whether this processor has products with packed weights (oneDNN's, with AVX-512). Cost: a load.
bool packs_weights();

/// The weight [out, in] in oneDNN's layout: an opaque tensor for times_packed() alone.
///
/// Requires  packs_weights(); bf16, on the processor
/// Cost      a copy of the weight
at::Tensor packed(const at::Tensor& weight);

/// x · weightᵀ [+ bias] [+ other] for a packed weight; rounded to bf16 once. One of `bias` and
/// `other` must be undefined. It has the bits of at::linear().
///
/// Shapes  x [..., in], bias [out], other [..., out]; all bf16
at::Tensor times_packed(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {},
                        const at::Tensor& other = {});

}  // namespace dedloc::training::albert
