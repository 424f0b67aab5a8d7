// The fused parts of a layer (fused_layers.hpp) as functions of libtorch, with their gradients; and
// matrix products whose weights are cast once for a pass. Gradients of weights come out of the
// products in fp32, so that a layer that is used 24 times adds up its gradients in fp32. On the
// processor all uses of a weight add theirs to one sum.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <utility>

#include "boinc_app/training/fused_layers.hpp"

namespace dedloc::training::albert {

/// A weight [out, in], and itself in the short format or packed in fp32, without a gradient of its
/// own. Of one pass.
struct ShortWeight {
    /// Casts a weight, and on a processor packs it, if there are products for that.
    ShortWeight(const at::Tensor& exact, at::ScalarType type);

    at::Tensor weight;  ///< fp32
    /// The same, short, for x · weightᵀ: packed, or on a processor stored by columns.
    at::Tensor forward;
    at::Tensor backward;  ///< the same for by_out · weight: its transpose packed, or by rows
    at::Tensor sum;       ///< its gradient, to which every use adds; empty: each has its own
};

/// x · weightᵀ [+ bias] for x [..., in] of the weight's format; the result has it, too. The bias is
/// fp32, and so must be the format.
at::Tensor short_product(const at::Tensor& x, const ShortWeight& weight,
                         const at::Tensor& bias = {});

/// x · weightᵀ + bias for three weights of the same shape; short.
std::array<at::Tensor, 3> three_products(FusedLayers& layers, const at::Tensor& x,
                                         const std::array<ShortWeight, 3>& weights,
                                         const std::array<at::Tensor, 3>& biases);

/// gelu(product + bias) for a short product; short.
at::Tensor bias_gelu(FusedLayers& layers, const at::Tensor& product, const at::Tensor& bias);

/// The vectors of an add_norm().
struct NormVectors {
    at::Tensor bias;   ///< the product's
    at::Tensor gain;   ///< the layer norm's
    at::Tensor shift;  ///< the layer norm's
};

/// The layer norm of product + bias + residual, as fp32 and short. The product is short, the
/// residual fp32.
std::pair<at::Tensor, at::Tensor> add_norm(FusedLayers& layers, const at::Tensor& product,
                                           const at::Tensor& residual, const NormVectors& vectors,
                                           double epsilon);

}  // namespace dedloc::training::albert
