// Convolutions in pieces of the batch against whole ones.
#include <ATen/TensorOperators.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch.hpp>

#include "boinc_app/swav/resnet.hpp"
#include "boinc_app/training/task.hpp"

namespace dedloc::swav {
namespace {

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
    return ((a - b).abs().max() / b.abs().max()).item<double>();
}

TEST_CASE("a convolution in pieces is a whole one up to rounding, and asks after each", "[swav]") {
    training::set_compute_threads(1);
    struct Shape {
        std::int64_t inputs, outputs, kernel, stride, pixels;
    };
    const auto [inputs, outputs, kernel, stride, pixels] = GENERATE(
        values<Shape>({{3, 16, 7, 2, 33}, {16, 24, 3, 1, 15}, {24, 8, 1, 1, 9}, {8, 8, 3, 2, 10}}));
    CAPTURE(inputs, outputs, kernel, stride, pixels);
    const at::Tensor x =
        at::randn({7, inputs, pixels, pixels}).contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor weight = at::randn({outputs, inputs, kernel, kernel});
    x.set_requires_grad(true);
    weight.set_requires_grad(true);
    int questions = 0;
    const training::IsInterrupted ask = [&] { return ++questions < 0; };
    const training::InterruptionPoints points{ask};
    const at::Tensor whole = convolve(x, weight, stride, points);
    CHECK(questions == 1);
    const double each = 2.0 * static_cast<double>(weight.numel() * whole.size(2) * whole.size(3));
    const at::Tensor pieces = convolve(x, weight, stride, points, 2.5 * each);
    CHECK(questions == 1 + 4);  // of 2, 2, 2 and 1 pictures
    CHECK(largest_difference(pieces, whole) < 1e-6);
    CHECK(convolve(x, weight, stride, points, 2.5 * each).equal(pieces));
    CHECK(pieces.is_contiguous(at::MemoryFormat::ChannelsLast));
    const at::Tensor by = at::randn(whole.sizes());
    const auto expected = torch::autograd::grad({(whole * by).sum()}, {x, weight});
    CHECK(questions == 9 + 1);
    const auto gradients = torch::autograd::grad({(pieces * by).sum()}, {x, weight});
    CHECK(questions == 10 + 4);
    CHECK(largest_difference(gradients[0], expected[0]) < 1e-6);
    CHECK(largest_difference(gradients[1], expected[1]) < 1e-5);  // sums over all pixels
    // A piece of one picture is the smallest.
    questions = 0;
    CHECK(largest_difference(convolve(x, weight, stride, points, 1), whole) < 1e-6);
    CHECK(questions == 7);
}

TEST_CASE("a 1x1 convolution with a stride has the gradients of a matrix product", "[swav]") {
    training::set_compute_threads(1);
    const std::int64_t channels = GENERATE(1, 4, 7, 8, 12, 15, 16, 17);
    CAPTURE(channels);
    const at::Tensor x =
        at::randn({32, channels, 32, 32}).contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor weight = at::randn({8, channels, 1, 1});
    x.set_requires_grad(true);
    weight.set_requires_grad(true);
    const training::IsInterrupted never = [] { return false; };
    const at::Tensor y = convolve(x, weight, 2, training::InterruptionPoints{never});
    CHECK(y.is_contiguous(at::MemoryFormat::ChannelsLast));
    const at::Tensor read = x.slice(2, 0, std::nullopt, 2).slice(3, 0, std::nullopt, 2);
    const at::Tensor expected = at::einsum("ncij,ocab->noij", {read, weight});
    CHECK(largest_difference(y, expected) < 1e-6);
    const at::Tensor by = at::randn(y.sizes());
    const auto gradients = torch::autograd::grad({(y * by).sum()}, {x, weight});
    const auto expected_gradients = torch::autograd::grad({(expected * by).sum()}, {x, weight});
    CHECK(largest_difference(gradients[0], expected_gradients[0]) < 1e-6);
    CHECK(largest_difference(gradients[1], expected_gradients[1]) < 1e-5);
}

}  // namespace
}  // namespace dedloc::swav
