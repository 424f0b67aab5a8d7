// A residual network up to its averaged features, on tensors that it reads in place.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "boinc_app/swav/batch_norm.hpp"
#include "boinc_app/training/torch_pass.hpp"
#include "peer/formats/swav_layout.hpp"

namespace dedloc::swav {

/// Operations of a convolution, forward, between two points where a pass may be interrupted. At 60
/// GFLOP/s they take 0.03 s.
inline constexpr double kPieceOperations = 2e9;

/// A convolution without bias. On a processor a large one is computed in pieces of the batch, which
/// changes the rounding of its result and of its weight's gradient, the sum of those of the pieces.
/// The pass may be interrupted after each piece, forward and backward.
///
/// Shapes    pictures [N, C, H, W], weight [O, C, k, k] with an odd k, padded by (k − 1) ÷ 2
/// Memory    the output twice while pieces are joined; a copy of the pixels that are read if k is
///           1, the stride above 1, and C below 16
at::Tensor convolve(const at::Tensor& pictures, const at::Tensor& weight, std::int64_t stride,
                    const training::InterruptionPoints& points,
                    double piece_operations = kPieceOperations);

/// The trunk. Its operations are torchvision's (stride on the 3×3 of a bottleneck, ReLU after the
/// sum); facebook's stem pads in two steps, which is the same.
class ResNet {
  public:
    /// Tensors of the trunk for each convolution: its weight, and its batch norm's weight and bias.
    static constexpr std::size_t kTensorsPerConvolution = 3;

    /// Takes the first tensors of `parameters`, in the order of formats::swav_tensors().
    ResNet(const formats::ResNetSpec& spec, std::span<const at::Tensor> parameters);

    /// The features [pictures, F] of pictures [pictures, 3, size, size]: fp32. The pass may be
    /// interrupted after each piece of a convolution, forward and backward.
    at::Tensor features(const at::Tensor& pictures, BatchNorms& norms,
                        const training::InterruptionPoints& points) const;

    /// How many tensors it has taken.
    std::size_t tensor_count() const { return layers_.size() * kTensorsPerConvolution; }

  private:
    struct Layer {
        formats::Convolution map;
        at::Tensor weight;
        Affine gain;
    };

    const bool has_small_stem_;
    std::vector<Layer> layers_;
};

}  // namespace dedloc::swav
