#include "kernels/sgd.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "tests/kernels/aborts.hpp"
#include "tests/kernels/inputs.hpp"
#include "tests/kernels/one_tensor.hpp"

using namespace dedloc;
using namespace dedloc::kernels;

namespace {

SgdScalars scalars_with(double trust) {
    return {.element = {.learning_rate = 0.3f,
                        .momentum = 0.9f,
                        .weight_decay = 1e-4f,
                        .clip_factor = 0.7f},
            .trust = trust,
            .epsilon = 1e-8};
}

}  // namespace

/// Error bounds. Let ε = 2⁻²⁴, half a unit in the last place, D = rate (|clip g| + |decay p|) and B
/// = |μ b| + D. The error of d is 2ε D in its terms and sum, ε D in the product, and, with LARC, ε
/// D by the rate's own rounding and ε D by the rounding of ‖g‖'s terms: 5ε D at most. The error of
/// b adds ε in μ b and ε in the sum: 6ε B. lr × b and the difference add ε each: lr (7ε B) + ε |p|.
/// Terms in ε² are covered by 1 %.
TEST_CASE("SGD stays within the rounding errors of its definition in double", "[kernels]") {
    for (const std::size_t count : tests::kSizes) {
        for (const double trust : {0.0, 0.001}) {
            const auto scalars = scalars_with(trust);
            const SgdElementScalars& s = scalars.element;
            const Random random{count};
            auto p = tests::ordinary(random.split(0), count, 0.02);
            auto b = tests::ordinary(random.split(1), count, 1e-4);
            const auto g = tests::ordinary(random.split(2), count, 1e-2);
            const auto old_p = p;
            const auto old_b = b;
            double pp = 0;
            double gg = 0;
            for (std::size_t i = 0; i < count; ++i) {
                const double clipped = double{s.clip_factor} * double{g[i]};
                pp += double{p[i]} * double{p[i]};
                gg += clipped * clipped;
            }
            const double decay = double{s.weight_decay};
            double rate = 1;
            if (trust > 0 && count > 0) {
                const double p_norm = std::sqrt(pp);
                rate = trust * p_norm / (std::sqrt(gg) + decay * p_norm + scalars.epsilon);
            }
            const float used = tests::sgd_of_one({p, b, g}, scalars);
            CHECK(double{used} == Approx(rate).epsilon(1e-6));
            double worst = 0;
            for (std::size_t i = 0; i < count; ++i) {
                const double kept = double{s.momentum} * double{old_b[i]};
                const double clipped = double{s.clip_factor} * double{g[i]};
                const double decayed = decay * double{old_p[i]};
                const double next_b = kept + rate * (clipped + decayed);
                const double size =
                    std::fabs(kept) + rate * (std::fabs(clipped) + std::fabs(decayed));
                const double step = double{s.learning_rate} * next_b;
                const double next_p = double{old_p[i]} - step;
                const double bound =
                    1.01 * 0x1p-24 * (7 * double{s.learning_rate} * size + std::fabs(next_p));
                worst = std::max(worst, std::fabs(double{p[i]} - next_p) / bound);
            }
            INFO(count << " elements, trust " << trust);
            CHECK(worst <= 1);
        }
    }
}

TEST_CASE("LARC does not scale a tensor whose norm or gradient is zero", "[kernels]") {
    std::vector<float> p(4, 0.0f);
    std::vector<float> b(4, 0.0f);
    const std::vector<float> ones(4, 1.0f);
    const std::vector<float> zeros(4, 0.0f);
    CHECK(tests::sgd_of_one({p, b, ones}, scalars_with(0.001)) == 1.0f);
    CHECK(b == std::vector<float>(4, 0.7f));
    p.assign(4, 1.0f);
    b.assign(4, 0.0f);
    CHECK(tests::sgd_of_one({p, b, zeros}, scalars_with(0.001)) == 1.0f);
    CHECK(p == ones);  // and no decay
    CHECK(tests::sgd_of_one({p, b, zeros}, scalars_with(0)) == 1.0f);
    CHECK(p[0] < 1);  // without LARC decay applies
    std::vector<float> none;
    CHECK(tests::sgd_of_one({none, none, none}, scalars_with(0.001)) == 1.0f);
}

TEST_CASE("SGD refuses misuse in one sentence", "[kernels]") {
    std::vector<float> a(4);
    std::vector<float> b(4);
    const std::vector<float> c(4);
    const auto message = [&](std::span<float> p, const SgdScalars& scalars) {
        return tests::abort_message([&] { tests::sgd_of_one({p, b, c}, scalars); });
    };
    CHECK(message(std::span{a}.first(3), scalars_with(0)).find("one length") != std::string::npos);
    CHECK(message(b, scalars_with(0)).find("overlap") != std::string::npos);
    CHECK(tests::aborts_saying("overlap", [&] { tests::sgd_of_one({a, b, b}, scalars_with(0)); }));
    CHECK(tests::aborts_saying("overlap", [&] { tests::sgd_of_one({a, b, a}, scalars_with(0)); }));
    const SegmentTable longer = tests::one_tensor(5);
    CHECK(tests::aborts_saying("beyond the end", [&] {
        sgd({a, b, c}, longer, scalars_with(0), {});
    }));
    CHECK(message(a, scalars_with(NAN)).find("must be finite") != std::string::npos);
    CHECK(message(a, scalars_with(-1)).find("not be negative") != std::string::npos);
    auto bad = scalars_with(0);
    bad.element.learning_rate = INFINITY;
    CHECK(message(a, bad).find("must be finite") != std::string::npos);
}
