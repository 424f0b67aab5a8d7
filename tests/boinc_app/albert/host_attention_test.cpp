// Attention on the processor and its gradient against libtorch's operations in fp64.
#include "boinc_app/albert/host_attention.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <torch/csrc/autograd/autograd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "boinc_app/training/task.hpp"

namespace dedloc::training::albert {
namespace {

using Lengths = std::vector<std::int64_t>;

at::Tensor drawn_shorts(at::IntArrayRef shape, double size, std::uint64_t seed) {
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    return (at::randn(shape, generator, at::kFloat) * size).to(at::kBFloat16);
}

/// The same by products and softmax.
at::Tensor by_products(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                       std::int64_t heads, const Lengths& lengths) {
    const std::int64_t rows = q.size(0), length = q.size(1), width = q.size(2) / heads;
    const auto split = [&](const at::Tensor& x) {
        return x.view({rows, length, heads, width}).transpose(1, 2);
    };
    const at::Tensor is_padding =
        at::arange(length).unsqueeze(0).ge(at::tensor(lengths).unsqueeze(1)).view({rows, 1, 1, -1});
    const at::Tensor scores =
        (at::matmul(split(q), split(k).transpose(2, 3)) / std::sqrt(static_cast<double>(width)))
            .masked_fill(is_padding, -std::numeric_limits<double>::infinity());
    return at::matmul(at::softmax(scores, -1), split(v)).transpose(1, 2).reshape(q.sizes());
}

struct Case {
    std::int64_t length, heads, width;
    Lengths row_lengths;
};

/// Inputs of a case, and the loss's gradient by its result.
struct Inputs {
    explicit Inputs(const Case& of, double size) {
        const std::array shape{static_cast<std::int64_t>(of.row_lengths.size()), of.length,
                               of.heads * of.width};
        for (std::size_t i = 0; i < 3; ++i) {
            x[i] = drawn_shorts(shape, i < 2 ? size : 1, i + 1).set_requires_grad(true);
            exact[i] = x[i].detach().to(at::kDouble).set_requires_grad(true);
        }
        by_out = drawn_shorts(shape, 1, 4);
    }
    std::array<at::Tensor, 3> x, exact;
    at::Tensor by_out;
};

double relative(const at::Tensor& measured, const at::Tensor& exact) {
    return ((measured.to(at::kDouble) - exact).norm() / exact.norm()).item<double>();
}

TEST_CASE("attention on a processor and its gradient are those of fp64, within roundings to bf16",
          "[training]") {
    if (!has_host_attention(16, 16)) return;  // the model then uses libtorch's operations
    const Case of = GENERATE(Case{16, 1, 16, {16}}, Case{64, 2, 64, {64, 64}},
                             Case{80, 3, 32, {80, 17, 1}}, Case{13, 2, 16, {13, 5}},
                             Case{512, 2, 64, {512, 333}}, Case{1'040, 1, 16, {1'030}});
    const double size = GENERATE(1.0, 4.0);
    CAPTURE(of.length, of.heads, of.width, size);
    const Inputs in{of, size};
    const at::Tensor out = host_attention(in.x[0], in.x[1], in.x[2], of.heads, of.row_lengths);
    const at::Tensor wanted =
        by_products(in.exact[0], in.exact[1], in.exact[2], of.heads, of.row_lengths);
    CHECK(relative(out.detach(), wanted.detach()) < 4e-3);  // a rounding errs by up to 4e-3
    const auto by = torch::autograd::grad({out}, {in.x[0], in.x[1], in.x[2]}, {in.by_out});
    const auto exact = torch::autograd::grad({wanted}, {in.exact[0], in.exact[1], in.exact[2]},
                                             {in.by_out.to(at::kDouble)});
    // Large scores have weights near 0 or 1, whose gradient is a small difference of numbers that
    // are rounded to bf16.
    const double bound = size > 1 ? 5e-2 : 1e-2;
    for (std::size_t i = 0; i < 3; ++i) {
        CAPTURE(i, relative(by[i], exact[i]));
        CHECK(by[i].scalar_type() == at::kBFloat16);
        CHECK(relative(by[i], exact[i]) < bound);
    }
}

TEST_CASE("padding has no weight and no gradient, whatever it holds", "[training]") {
    if (!has_host_attention(16, 16)) return;
    const Case of{48, 2, 16, {48, 19}};
    const auto computed = [&](double padding) {
        const Inputs in{of, 1};
        for (at::Tensor x : {in.x[1], in.x[2]}) x.detach()[1].slice(0, 19).fill_(padding);
        const at::Tensor out = host_attention(in.x[0], in.x[1], in.x[2], of.heads, of.row_lengths);
        const auto by = torch::autograd::grad({out}, {in.x[0], in.x[1], in.x[2]}, {in.by_out});
        CHECK(by[1][1].slice(0, 19).eq(0).all().item<bool>());
        CHECK(by[2][1].slice(0, 19).eq(0).all().item<bool>());
        return std::array{out.detach(), by[0], by[1], by[2]};
    };
    const auto some = computed(0.5), other = computed(-300);
    for (std::size_t i = 0; i < some.size(); ++i) CHECK(some[i].equal(other[i]));
}

TEST_CASE("the number of threads changes no bit of attention", "[training]") {
    if (!has_host_attention(16, 16)) return;
    const Case of{96, 3, 32, {96, 50}};
    const auto with_threads = [&](unsigned threads) {
        set_compute_threads(threads);
        const Inputs in{of, 1};
        const at::Tensor out = host_attention(in.x[0], in.x[1], in.x[2], of.heads, of.row_lengths);
        const auto by = torch::autograd::grad({out}, {in.x[0], in.x[1], in.x[2]}, {in.by_out});
        set_compute_threads(1);
        return std::array{out.detach(), by[0], by[1], by[2]};
    };
    const auto one = with_threads(1), three = with_threads(3);
    for (std::size_t i = 0; i < one.size(); ++i) CHECK(one[i].equal(three[i]));
}

}  // namespace
}  // namespace dedloc::training::albert
