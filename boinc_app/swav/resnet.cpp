#include "boinc_app/swav/resnet.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/relu.h>

#include <algorithm>

#include "peer/base/check.hpp"

namespace dedloc::swav {

using formats::ConvolutionRole;

namespace {

/// oneDNN, as torch 2.11 has it, computes a 1×1 convolution with a stride on a copy of the pixels
/// that it reads. With channels_last and fewer channels than a vector register holds, the weight's
/// gradient writes past the end of that copy (valgrind on AVX2, reported to oneDNN in 2026).
constexpr std::int64_t kRegisterChannels = 16;

bool overruns_in_one_dnn(const at::Tensor& pictures, const at::Tensor& weight,
                         std::int64_t stride) {
    return pictures.is_cpu() && weight.size(2) == 1 && stride > 1 &&
           pictures.size(1) < kRegisterChannels;
}

}  // namespace

at::Tensor convolve(const at::Tensor& pictures, const at::Tensor& weight, std::int64_t stride,
                    const training::InterruptionPoints& points, double piece_operations) {
    if (overruns_in_one_dnn(pictures, weight, stride)) {
        const at::Tensor read = pictures.slice(2, 0, std::nullopt, stride)
                                    .slice(3, 0, std::nullopt, stride)
                                    .contiguous(at::MemoryFormat::ChannelsLast);
        return convolve(read, weight, 1, points, piece_operations);
    }
    const std::int64_t padding = (weight.size(2) - 1) / 2;
    const auto one = [&](const at::Tensor& some) {
        return points.add(at::conv2d(some, weight, {}, {stride, stride}, {padding, padding}));
    };
    const auto side = [&](std::int64_t pixels) { return (pixels + stride - 1) / stride; };
    const std::int64_t count = pictures.size(0);
    const double operations = 2.0 * static_cast<double>(weight.numel()) *
                              static_cast<double>(side(pictures.size(2)) * side(pictures.size(3)));
    const auto at_once = static_cast<std::int64_t>(std::max(1.0, piece_operations / operations));
    if (!pictures.is_cpu() || count <= at_once) return one(pictures);
    std::vector<at::Tensor> pieces = pictures.split(at_once);
    for (at::Tensor& piece : pieces) piece = one(piece);
    return at::cat(pieces);
}

ResNet::ResNet(const formats::ResNetSpec& spec, std::span<const at::Tensor> parameters)
    : has_small_stem_(spec.has_small_stem) {
    std::size_t at = 0;
    for (formats::Convolution& map : formats::convolutions(spec)) {
        DEDLOC_CHECK(at + kTensorsPerConvolution <= parameters.size(), "too few tensors", at);
        layers_.push_back({.map = map,
                           .weight = parameters[at],
                           .gain = {parameters[at + 1], parameters[at + 2]}});
        at += kTensorsPerConvolution;
    }
}

at::Tensor ResNet::features(const at::Tensor& pictures, BatchNorms& norms,
                            const training::InterruptionPoints& points) const {
    const auto normed = [&](const at::Tensor& input, const Layer& layer) {
        const auto stride = static_cast<std::int64_t>(layer.map.stride);
        return norms.apply(convolve(input, layer.weight, stride, points), layer.gain);
    };
    at::Tensor block_input;
    at::Tensor x = pictures;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        at::Tensor y = normed(x, layers_[i]);
        if (layers_[i].map.role == ConvolutionRole::kLast) {
            const bool has_shortcut =
                i + 1 < layers_.size() && layers_[i + 1].map.role == ConvolutionRole::kShortcut;
            if (has_shortcut) block_input = normed(block_input, layers_[++i]);
            y.add_(block_input);
        }
        // Nothing else has the batch norm's output, so ReLU and sum may overwrite it.
        x = y.relu_();
        if (layers_[i].map.role == ConvolutionRole::kStem && !has_small_stem_) {
            x = at::max_pool2d(x, {3, 3}, {2, 2}, {1, 1});
        }
        const bool ends_block = layers_[i].map.role != ConvolutionRole::kInner;
        if (ends_block) block_input = x;
    }
    return at::mean(x, {2, 3}, false, at::kFloat);
}

}  // namespace dedloc::swav
