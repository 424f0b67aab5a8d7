// Gradients of weights that are added up in fp32 from bf16 operands, against libtorch's products of
// the same values in fp64; and their use by a model.
#include "boinc_app/albert/weight_gradient.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch.hpp>

#include "boinc_app/albert/fused_pass.hpp"
#include "boinc_app/training/task.hpp"

namespace dedloc::training::albert {
namespace {

at::Tensor drawn_matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed,
                        at::ScalarType type = at::kBFloat16) {
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    return at::randn({rows, columns}, generator, at::kFloat).to(type);
}

double largest(const at::Tensor& x) {
    return x.abs().max().item<double>();
}

TEST_CASE("gradients of weights are added to a sum in fp32, for any number of tokens and widths",
          "[training]") {
    if (!has_exact_sums()) return;  // the model then multiplies in fp32
    const std::int64_t tokens = GENERATE(1, 2, 31, 64, 511, 512, 513, 1'100);
    const std::int64_t out = GENERATE(1, 16, 64, 100);
    const std::int64_t in = GENERATE(1, 32, 130);
    CAPTURE(tokens, out, in);
    const at::Tensor by_out = drawn_matrix(tokens, out, 1);
    const at::Tensor x = drawn_matrix(tokens, in, 2);
    const at::Tensor sum = at::full({out, in}, 3.0F);
    const GradientInput input{x};
    input.add_to(sum, by_out);
    input.add_to(sum, by_out);
    const at::Tensor exact = at::mm(by_out.t().to(at::kDouble), x.to(at::kDouble)) * 2 + 3;
    const at::Tensor sizes =
        at::mm(by_out.t().to(at::kDouble).abs(), x.to(at::kDouble).abs()) * 2 + 3;
    // As many roundings as additions, at the most.
    const double bound = static_cast<double>(2 * tokens + 2) * 0x1p-24;
    CHECK(largest((sum - exact) / sizes) <= bound);
}

TEST_CASE("the number of threads changes no bit of a weight's gradient", "[training]") {
    if (!has_exact_sums()) return;
    const at::Tensor by_out = drawn_matrix(700, 200, 3);
    const at::Tensor x = drawn_matrix(700, 330, 4);
    const auto with_threads = [&](unsigned threads) {
        set_compute_threads(threads);
        const at::Tensor sum = at::zeros({200, 330});
        GradientInput{x}.add_to(sum, by_out);
        set_compute_threads(1);
        return sum;
    };
    CHECK(with_threads(1).equal(with_threads(3)));
    CHECK(with_threads(1).equal(with_threads(1)));
}

TEST_CASE("all uses of a short weight, and none, give the gradient of the weight", "[training]") {
    const auto type = GENERATE(at::kBFloat16, at::kFloat);
    const at::Tensor weight = drawn_matrix(48, 80, 5).to(at::kFloat).set_requires_grad(true);
    const at::Tensor x = drawn_matrix(37, 80, 6, type).set_requires_grad(true);
    const ShortWeight cast{weight, type};
    const auto uses = GENERATE(0, 1, 3);
    CAPTURE(uses);
    // Besides the products, a use of the weight itself.
    at::Tensor loss = (cast.weight * 2).sum();
    at::Tensor exact = (weight * 2).sum();
    for (int use = 0; use < uses; ++use) {
        const at::Tensor by =
            drawn_matrix(37, 48, static_cast<std::uint64_t>(7 + use)).to(at::kFloat);
        loss = loss + (short_product(x, cast).to(at::kFloat) * by).sum();
        exact = exact + (at::linear(x.to(at::kFloat), weight) * by).sum();
    }
    const auto measured = torch::autograd::grad({loss}, {weight});
    const auto wanted = torch::autograd::grad({exact}, {weight});
    CHECK(measured[0].scalar_type() == at::kFloat);
    CHECK(largest(measured[0] - wanted[0]) < 1e-5 * largest(wanted[0]));
    // A pass that nothing is derived from leaves no sum behind.
    const c10::NoGradGuard no_gradients;
    CHECK(ShortWeight(weight, type).sum.numel() == 0);
}

TEST_CASE("a product in fp32 with its bias has libtorch's gradients", "[training]") {
    const auto drawn = [](std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
        return drawn_matrix(rows, columns, seed, at::kFloat);
    };
    const at::Tensor weight = drawn(96, 80, 1).set_requires_grad(true);
    const at::Tensor bias = drawn(1, 96, 2).view({96}).set_requires_grad(true);
    const at::Tensor x = drawn(74, 80, 3).view({2, 37, 80}).set_requires_grad(true);
    const at::Tensor by = drawn(74, 96, 4).view({2, 37, 96});
    const ShortWeight packed{weight, at::kFloat};
    const at::Tensor out = short_product(x, packed, bias);
    const at::Tensor wanted = at::linear(x, weight, bias);
    CHECK(largest(out - wanted) < 1e-5 * largest(wanted));
    const auto measured = torch::autograd::grad({out}, {x, weight, bias}, {by});
    const auto exact = torch::autograd::grad({wanted}, {x, weight, bias}, {by});
    for (std::size_t i = 0; i < exact.size(); ++i) {
        CHECK(largest(measured[i] - exact[i]) < 1e-5 * largest(exact[i]));
    }
}

}  // namespace
}  // namespace dedloc::training::albert
