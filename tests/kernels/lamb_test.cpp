#include "kernels/lamb.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "tests/kernels/aborts.hpp"
#include "tests/kernels/inputs.hpp"
#include "tests/kernels/one_tensor.hpp"

using namespace dedloc;
using namespace dedloc::kernels;

namespace {

LambScalars scalars_with(float weight_decay, float clip_factor, double learning_rate) {
    return {.element = {.beta1 = 0.9f,
                        .one_minus_beta1 = 0.1f,
                        .beta2 = 0.999f,
                        .one_minus_beta2 = 0.001f,
                        .epsilon = 1e-6f,
                        .weight_decay = weight_decay,
                        .clip_factor = clip_factor},
            .learning_rate = learning_rate,
            .norm_limit = 10'000};
}

struct Tensor {
    std::vector<float> p, m, v, gradient;

    LambVectors vectors() { return {p, m, v, gradient}; }
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

/// One update in double from the same floats, and how far the kernel may be from it, element by
/// element. An operation gives its exact result times 1 + δ with |δ| ≤ ε, and a product of n such
/// factors or their inverses, where (1 + δ)^½ counts half, differs from 1 by at most
/// γ(n) = nε ÷ (1 − nε). How many factors each term of a result carries, in brackets:
///
///   clip × gradient [1];  β₁m [1] + (1−β₁)g [2] = m [3]
///   g g [3];  β₂v [1] + (1−β₂)gg [4] = v [5], all of one sign
///   A: √v [5÷2 + 1] + epsilon [0] = d [4.5];  m ÷ d [3 + 4.5 + 1] + decay p [1] = u [9.5]
///   B: m ÷ correction [4];  v ÷ correction [6];  √ of it [6÷2 + 1] + epsilon [0] = d [5];
///      m ÷ d [4 + 5 + 1] + decay p [1] = u [11]
///
/// So with U = (|β₁m| + |(1−β₁)g|) ÷ d + |decay p|, B's with its correction, u errs by at most γU.
/// By the triangle inequality ‖u‖ errs by γ‖U‖, relatively by h = γ‖U‖ ÷ ‖u‖, so that the factor
/// f = float(step × ‖p‖ ÷ ‖u‖) errs relatively by φ = (ε + h) ÷ (1 − h); h = 0 if nothing adapts.
///
///   f u, rounded, errs by t = f (((1+φ)(1+ε) − 1) |u| + (1+φ)(1+ε) γU)
///   p − f u, rounded, by t (1+ε) + ε |p − f u|
///
/// This reference rounds no more often than the kernel, and by 2⁻⁵³: ε is 2⁻²⁴ + 2⁻⁵³. Each of
/// the four sums of n squares, here and in the kernel, errs by n 2⁻⁵³, its root by half of that;
/// they and the operations around them add (n + 8) 2⁻⁵² to φ.
struct Exact {
    std::vector<double> p, bound;
};

constexpr double kEpsilon = 0x1p-24 + 0x1p-53;

constexpr double gamma(double factors) {
    return factors * kEpsilon / (1 - factors * kEpsilon);
}

Exact in_double(const Tensor& t, const LambScalars& scalars, bool adapts_at_all) {
    const bool is_step_debiased = scalars.variant == LambVariant::kStepDebiased;
    const double direction = is_step_debiased ? gamma(9.5) : gamma(11);
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
        const double correction = is_step_debiased ? 1 : double{s.first_correction};
        const double square_correction = is_step_debiased ? 1 : double{s.second_correction};
        const double divisor = std::sqrt(v / square_correction) + double{s.epsilon};
        u[i] = (kept + added) / correction / divisor + double{s.weight_decay} * p;
        size[i] = (std::fabs(kept) + std::fabs(added)) / correction / divisor +
                  std::fabs(double{s.weight_decay} * p);
        pp += p * p;
        uu += u[i] * u[i];
        sizes += size[i] * size[i];
    }
    const bool adapts = adapts_at_all && pp > 0 && uu > 0;
    const double bias =
        is_step_debiased ? std::sqrt(double{s.second_correction}) / double{s.first_correction} : 1;
    const double factor =
        scalars.learning_rate * bias * (adapts ? std::sqrt(pp) / std::sqrt(uu) : 1);
    const double h = adapts ? direction * std::sqrt(sizes / uu) : 0;
    REQUIRE(h < 1);
    const double factor_error = (kEpsilon + h) / (1 - h) + static_cast<double>(count + 8) * 0x1p-52;
    const double product = (1 + factor_error) * (1 + kEpsilon);
    Exact exact;
    for (std::size_t i = 0; i < count; ++i) {
        exact.p.push_back(double{t.p[i]} - factor * u[i]);
        const double step_error =
            factor * ((product - 1) * std::fabs(u[i]) + product * direction * size[i]);
        exact.bound.push_back(step_error * (1 + kEpsilon) + kEpsilon * std::fabs(exact.p[i]));
    }
    return exact;
}

/// Values so far from 0 that no product of an update is denormal: there the rounding error would
/// exceed ε.
bool is_far_from_denormal(const Tensor& tensor) {
    const auto is_above = [](const std::vector<float>& values, float min) {
        return std::all_of(values.begin(), values.end(),
                           [min](float x) { return x == 0 || std::fabs(x) > min; });
    };
    return is_above(tensor.p, 0x1p-50f) && is_above(tensor.m, 0x1p-50f) &&
           is_above(tensor.v, 0x1p-100f) && is_above(tensor.gradient, 0x1p-50f);
}

}  // namespace

TEST_CASE("LAMB stays within the rounding errors of its definition in double", "[kernels]") {
    for (std::uint64_t seed = 1; seed <= 48; ++seed) {
        const std::size_t count = tests::kSizes[1 + seed % 6];
        auto scalars = scalars_with(seed % 2 != 0 ? 0.01f : 0.0f, 0.37f, 0.00176);
        scalars.element.first_correction = 0.3439f;
        scalars.element.second_correction = 0.004f;
        if (seed > 24) scalars.variant = LambVariant::kMomentsDebiased;
        const bool adapts = seed <= 24 || seed % 2 != 0;
        Tensor tensor = ordinary_tensor(seed, count);
        REQUIRE(is_far_from_denormal(tensor));
        const Exact exact = in_double(tensor, scalars, adapts);
        tests::lamb_of_one(tensor.vectors(), scalars, {.adapts = adapts});
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
    tests::lamb_of_one(tensor.vectors(), scalars_with(0.01f, 1, 0.01));
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
    CHECK(tests::lamb_of_one({p, m, v, gradient}, scalars) == 1.0);
    CHECK(p[0] < 0);
    p.assign(4, 1.0f);
    m.assign(4, 0.0f);
    gradient.assign(4, 0.0f);
    CHECK(tests::lamb_of_one({p, m, v, gradient}, scalars) == 1.0);
    CHECK(p == std::vector<float>(4, 1.0f));
    p.assign(4, 1e6f);
    gradient.assign(4, 1.0f);
    const double ratio = tests::lamb_of_one({p, m, v, gradient}, scalars);
    const double u = double{m[0]} / (double{std::sqrt(v[0])} + 1e-6);
    CHECK(ratio == Approx(10'000 / (2 * u)).epsilon(1e-6));
    std::vector<float> none;
    CHECK(tests::lamb_of_one({none, none, none, none}, scalars) == 1.0);
}

TEST_CASE("LAMB refuses misuse in one sentence", "[kernels]") {
    std::vector<float> a(4);
    std::vector<float> b(4);
    std::vector<float> c(4);
    std::vector<float> d(4);
    const auto good = scalars_with(0, 1, 1);
    const auto message = [&](std::span<float> p, const LambScalars& scalars) {
        return tests::abort_message([&] { tests::lamb_of_one({p, b, c, d}, scalars); });
    };
    CHECK(message(std::span{a}.first(3), good).find("one length") != std::string::npos);
    auto bad = good;
    for (float LambElementScalars::*const scalar :
         {&LambElementScalars::beta1, &LambElementScalars::one_minus_beta1,
          &LambElementScalars::beta2, &LambElementScalars::one_minus_beta2,
          &LambElementScalars::epsilon, &LambElementScalars::weight_decay,
          &LambElementScalars::clip_factor, &LambElementScalars::first_correction,
          &LambElementScalars::second_correction}) {
        bad = good;
        bad.element.*scalar = std::numeric_limits<float>::quiet_NaN();
        CHECK(message(a, bad).find("must be finite") != std::string::npos);
    }
    bad = good;
    bad.learning_rate = INFINITY;
    CHECK(message(a, bad).find("must be finite") != std::string::npos);
    bad = good;
    bad.norm_limit = INFINITY;
    CHECK(message(a, bad).find("must be finite") != std::string::npos);
    bad.norm_limit = -1;
    CHECK(message(a, bad).find("not be negative") != std::string::npos);
    for (const auto p : {std::span{b}, std::span{c}, std::span{d}}) {
        CHECK(message(p, good).find("overlap") != std::string::npos);
    }
    const SegmentTable longer = tests::one_tensor(5);
    CHECK(tests::aborts_saying("beyond the end", [&] { lamb({a, b, c, d}, longer, good, {}); }));
    std::vector<double> ratios(2);
    CHECK(tests::aborts_saying("a place for the result of each tensor", [&] {
        lamb({a, b, c, d}, tests::one_tensor(4), good, ratios);
    }));
    bad = good;
    bad.element.epsilon = 0;
    CHECK(message(a, bad).find("epsilon") != std::string::npos);
    bad = good;
    bad.variant = LambVariant::kMomentsDebiased;
    bad.element.second_correction = 0;
    CHECK(message(a, bad).find("between 0 and 1") != std::string::npos);
    bad.variant = LambVariant::kStepDebiased;
    CHECK(message(a, bad).find("between 0 and 1") != std::string::npos);
}
