// Products with packed weights against the same products in fp64, which they are rounded from.
#include "boinc_app/albert/packed_product.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>

#include <catch2/catch.hpp>

#include "boinc_app/training/task.hpp"

namespace dedloc::training::albert {
namespace {

at::Tensor drawn(at::IntArrayRef shape, std::uint64_t seed, at::ScalarType type) {
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    return at::randn(shape, generator, at::kFloat).to(type);
}

TEST_CASE("products with packed weights are rounded once, for any number of rows and widths",
          "[training]") {
    const auto type = GENERATE(at::kBFloat16, at::kFloat);
    if (!packs_weights(type)) return;  // libtorch then copies a weight at each use
    const std::int64_t rows = GENERATE(1, 16, 154, 1'024, 1'100);
    const std::int64_t out = GENERATE(1, 64, 100);
    const std::int64_t in = GENERATE(2, 64, 130);
    CAPTURE(rows, out, in);
    const at::Tensor x = drawn({rows, in}, 1, type), weight = drawn({out, in}, 2, type);
    const at::Tensor bias = drawn({out}, 3, type), other = drawn({rows, out}, 4, type);
    const at::Tensor layout = packed(weight);
    const at::Tensor exact = at::mm(x.to(at::kDouble), weight.t().to(at::kDouble));
    const at::Tensor sizes = at::mm(x.to(at::kDouble).abs(), weight.t().to(at::kDouble).abs());
    const auto is_rounding_of = [&](const at::Tensor& measured, const at::Tensor& wanted) {
        // bf16 has 8 bits, so a rounding errs by up to 2⁻⁹; besides it those of the sums in fp32,
        // and of their terms if these are not exact.
        const bool is_short = type == at::kBFloat16;
        const auto terms = static_cast<double>((is_short ? 1 : 2) * in + 2);
        const at::Tensor bound =
            wanted.abs() * (is_short ? 0x1p-8 : 0x1p-23) + sizes * (terms * 0x1p-24);
        return (measured.to(at::kDouble) - wanted).abs().le(bound).all().item<bool>();
    };
    CHECK(is_rounding_of(times_packed(x, layout), exact));
    CHECK(is_rounding_of(times_packed(x, layout, bias), exact + bias.to(at::kDouble)));
    CHECK(is_rounding_of(times_packed(x, layout, {}, other), exact + other.to(at::kDouble)));
    CHECK(times_packed(x, layout).equal(times_packed(x, layout)));
}

TEST_CASE("the number of threads changes no bit of a product with a packed weight", "[training]") {
    const auto type = GENERATE(at::kBFloat16, at::kFloat);
    if (!packs_weights(type)) return;
    const at::Tensor x = drawn({2, 350, 330}, 5, type);
    const at::Tensor layout = packed(drawn({200, 330}, 6, type));
    const auto with_threads = [&](unsigned threads) {
        set_compute_threads(threads);
        const at::Tensor result = times_packed(x, layout);
        set_compute_threads(1);
        return result;
    };
    const at::Tensor one = with_threads(1);
    CHECK(one.equal(with_threads(3)));
    const bool has_shape = one.sizes().equals({2, 350, 200});
    CHECK(has_shape);
}

}  // namespace
}  // namespace dedloc::training::albert
