#include "kernels/lamb.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "tests/kernels/aborts.hpp"
#include "tests/kernels/inputs.hpp"
#include "tests/kernels/slow_reference.hpp"

using namespace dedloc;
using namespace dedloc::kernels;

namespace {

LambScalars scalars_with(float weight_decay, float clip_factor, double step_size) {
    return {.element = {.beta1 = 0.9f,
                        .one_minus_beta1 = 0.1f,
                        .beta2 = 0.999f,
                        .one_minus_beta2 = 0.001f,
                        .epsilon = 1e-6f,
                        .weight_decay = weight_decay,
                        .clip_factor = clip_factor},
            .step_size = step_size,
            .norm_limit = 10'000};
}

struct Tensor {
    std::vector<float> p, m, v, gradient;
};

Tensor ordinary_tensor(std::uint64_t seed, std::size_t count) {
    const Random random{seed};
    Tensor tensor{.p = tests::ordinary(random.split(0), count, 0.02),
                  .m = tests::ordinary(random.split(1), count, 1e-3),
                  .v = tests::ordinary(random.split(2), count, 1e-3),
                  .gradient = tests::ordinary(random.split(3), count, 1e-2)};
    for (float& v : tensor.v) v = v * v;
    return tensor;
}

/// One update in double from the same floats, and how far fp32 may be from it, element by element.
///
/// With ε = 2⁻²⁴ (half a unit in the last place) a rounding errs by at most ε of its result.
/// Writing M = |β₁m| + |(1−β₁)g|, d = √v + eps, U = M ÷ d + |decay p|:
///   m errs by at most 3ε M (clip, product, sum); v, all of one sign, by 5ε v; so √v by 3.5ε √v
///   and d by 4.5ε d; m ÷ d by 8.5ε M ÷ d; with decay and the last sum, u by 10ε U;
///   ‖u‖ then by 10ε ‖U‖ (triangle inequality), the ratio by the same over ‖u‖, relatively;
///   NVIDIA's variant divides m and v by its corrections first: ε more for m, half an ε for √v,
///   so u by 11.5ε U there; both variants are given 12;
///   the factor by ε more (rounding to float), the product by ε, the difference by ε |p|.
/// Terms in ε² are covered by 1 %. Inputs are such that nothing is denormal.
struct Exact {
    std::vector<double> p, bound;
};

Exact in_double(const Tensor& t, const LambScalars& scalars) {
    constexpr double kHalfUlp = 0x1p-24;
    constexpr double kDirection = 12 * kHalfUlp;
    const LambElementScalars& s = scalars.element;
    const std::size_t count = t.p.size();
    std::vector<double> u(count);
    std::vector<double> size(count);
    double pp = 0;
    double uu = 0;
    double sizes = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const double p = t.p[i];
        const double g = double{s.clip_factor} * double{t.gradient[i]};
        const double kept = double{s.beta1} * double{t.m[i]};
        const double added = double{s.one_minus_beta1} * g;
        const double v = double{s.beta2} * double{t.v[i]} + double{s.one_minus_beta2} * g * g;
        const double correction = double{s.first_correction};
        const double divisor = std::sqrt(v / double{s.second_correction}) + double{s.epsilon};
        u[i] = (kept + added) / correction / divisor + double{s.weight_decay} * p;
        size[i] = (std::fabs(kept) + std::fabs(added)) / correction / divisor +
                  std::fabs(double{s.weight_decay} * p);
        pp += p * p;
        uu += u[i] * u[i];
        sizes += size[i] * size[i];
    }
    const double ratio = scalars.adapts && pp > 0 && uu > 0 ? std::sqrt(pp) / std::sqrt(uu) : 1;
    const double factor = scalars.step_size * ratio;
    const double ratio_error = uu > 0 ? kDirection * std::sqrt(sizes / uu) : 0;
    Exact exact;
    for (std::size_t i = 0; i < count; ++i) {
        exact.p.push_back(double{t.p[i]} - factor * u[i]);
        const double step = std::fabs(factor * u[i]);
        exact.bound.push_back(1.01 *
                              (factor * kDirection * size[i] + step * (ratio_error + kHalfUlp) +
                               step * kHalfUlp + std::fabs(exact.p[i]) * kHalfUlp));
    }
    return exact;
}

}  // namespace

TEST_CASE("LAMB stays within the rounding errors of its definition in double", "[kernels]") {
    for (std::uint64_t seed = 1; seed <= 24; ++seed) {
        const std::size_t count = tests::kSizes[1 + seed % 6];
        auto scalars = scalars_with(seed % 2 != 0 ? 0.01f : 0.0f, 0.37f, 0.00176 * 0.316);
        if (seed > 12) {
            scalars.variant = LambVariant::kMomentsDebiased;
            scalars.element.first_correction = 0.3439f;
            scalars.element.second_correction = 0.004f;
            scalars.adapts = seed % 2 != 0;
        }
        Tensor tensor = ordinary_tensor(seed, count);
        const Exact exact = in_double(tensor, scalars);
        lamb(tensor.p, tensor.m, tensor.v, tensor.gradient, scalars);
        double worst = 0;
        for (std::size_t i = 0; i < count; ++i) {
            worst = std::max(worst, std::fabs(double{tensor.p[i]} - exact.p[i]) / exact.bound[i]);
        }
        INFO("seed " << seed << ", " << count << " elements, worst error over bound " << worst);
        CHECK(worst <= 1);
    }
}

TEST_CASE("LAMB's step has the tensor's own length times the step size", "[kernels]") {
    Tensor tensor = ordinary_tensor(3, 10'000);
    const auto before = tensor.p;
    lamb(tensor.p, tensor.m, tensor.v, tensor.gradient, scalars_with(0.01f, 1, 0.01));
    double norm = 0;
    double step = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
        norm += double{before[i]} * double{before[i]};
        const double moved = double{tensor.p[i]} - double{before[i]};
        step += moved * moved;
    }
    CHECK(std::sqrt(step) == Approx(0.01 * std::sqrt(norm)).epsilon(1e-5));
}

TEST_CASE("LAMB's ratio is 1 where a norm is 0, and bounded by the norm limit", "[kernels]") {
    const auto scalars = scalars_with(0, 1, 0.5);
    std::vector<float> p(4, 0.0f);
    std::vector<float> m(4, 0.0f);
    std::vector<float> v(4, 0.0f);
    std::vector<float> gradient(4, 1.0f);
    CHECK(lamb(p, m, v, gradient, scalars) == 1.0);
    CHECK(p[0] < 0);
    p.assign(4, 1.0f);
    m.assign(4, 0.0f);
    gradient.assign(4, 0.0f);
    CHECK(lamb(p, m, v, gradient, scalars) == 1.0);
    CHECK(p == std::vector<float>(4, 1.0f));
    p.assign(4, 1e6f);
    gradient.assign(4, 1.0f);
    const double ratio = lamb(p, m, v, gradient, scalars);
    const double u = double{m[0]} / (double{std::sqrt(v[0])} + 1e-6);
    CHECK(ratio == Approx(10'000 / (2 * u)).epsilon(1e-6));
    std::vector<float> none;
    CHECK(lamb(none, none, none, none, scalars) == 1.0);
}

TEST_CASE("LAMB refuses misuse in one sentence", "[kernels]") {
    std::vector<float> a(4);
    std::vector<float> b(4);
    std::vector<float> c(4);
    std::vector<float> d(4);
    const auto good = scalars_with(0, 1, 1);
    const auto message = [&](std::span<float> p, const LambScalars& scalars) {
        return tests::abort_message([&] { lamb(p, b, c, d, scalars); });
    };
    CHECK(message(std::span{a}.first(3), good).find("one length") != std::string::npos);
    CHECK(message(b, good).find("overlap") != std::string::npos);
    auto bad = good;
    bad.element.clip_factor = std::numeric_limits<float>::quiet_NaN();
    CHECK(message(a, bad).find("must be finite") != std::string::npos);
    bad = good;
    bad.element.epsilon = 0;
    CHECK(message(a, bad).find("epsilon") != std::string::npos);
    bad = good;
    bad.variant = LambVariant::kMomentsDebiased;
    bad.element.second_correction = 0;
    CHECK(message(a, bad).find("between 0 and 1") != std::string::npos);
    bad.element.second_correction = 0.5f;
    bad.variant = LambVariant::kStepDebiased;
    CHECK(message(a, bad).find("only the variant") != std::string::npos);
}
