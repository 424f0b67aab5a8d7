// A residual network up to its averaged features, on tensors that it reads in place.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <span>
#include <vector>

#include "boinc_app/swav/batch_norm.hpp"
#include "boinc_app/training/torch_pass.hpp"
#include "peer/formats/swav_layout.hpp"

namespace dedloc::swav {

/// The trunk. Its operations are torchvision's (stride on the 3×3 of a bottleneck, ReLU after the
/// sum); facebook's stem pads in two steps, which is the same.
class ResNet {
  public:
    /// Tensors of the trunk for each convolution: its weight, and its batch norm's weight and bias.
    static constexpr std::size_t kTensorsPerConvolution = 3;

    /// Takes the first tensors of `parameters`, in the order of formats::swav_tensors().
    ResNet(const formats::ResNetSpec& spec, std::span<const at::Tensor> parameters);

    /// The features [pictures, F] of pictures [pictures, 3, size, size]: fp32. The pass may be
    /// interrupted after each convolution, forward and backward.
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
