#include "kernels/accumulate.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/kernels/aborts.hpp"
#include "tests/kernels/inputs.hpp"
#include "tests/kernels/slow_codec.hpp"
#include "tests/kernels/slow_reference.hpp"

using namespace dedloc;

TEST_CASE("accumulate rounds product and sum separately", "[kernels]") {
    for (const std::size_t count : tests::kSizes) {
        for (const float scale : {1.0f, 0.1f, -3.0f, 1e-40f}) {
            const auto gradient = tests::adversarial(Random{1}, count, 1e30);
            const auto before = tests::adversarial(Random{2}, count, 1e30);
            auto sum = before;
            const auto outcome = kernels::accumulate(sum, gradient, scale);
            std::vector<float> terms;
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < count; ++i) {
                volatile float term = scale * gradient[i];
                volatile float expected = before[i] + term;
                terms.push_back(float{term});
                wrong += tests::same_bits(sum[i], expected) ? 0u : 1u;
            }
            CHECK(wrong == 0);
            CHECK(outcome.sum_of_squares == tests::slow::tree_of_squares(terms));
            CHECK(outcome.is_finite);
        }
    }
}

TEST_CASE("accumulate takes fp16 and bf16 at their exact values", "[kernels]") {
    for (const std::size_t count : tests::kSizes) {
        std::vector<kernels::Half> half(count);
        std::vector<kernels::Bfloat16> bfloat(count);
        Random random{count};
        for (std::size_t i = 0; i < count; ++i) {
            const auto bits = static_cast<std::uint16_t>(random.below(65'536));
            half[i].bits = (bits & 0x7c00) == 0x7c00 ? std::uint16_t{0} : bits;
            bfloat[i].bits = (bits & 0x7f80) == 0x7f80 ? std::uint16_t{0} : bits;
        }
        const auto before = tests::adversarial(Random{2}, count, 1e30);
        const auto check = [&](const auto& gradient, const auto& value_of) {
            std::vector<float> exact;
            for (const auto x : gradient) exact.push_back(static_cast<float>(value_of(x.bits)));
            auto expected = before;
            const double squares = tests::slow::accumulate(expected, exact, 0.1f);
            auto sum = before;
            const auto outcome = kernels::accumulate(sum, gradient, 0.1f);
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < count; ++i) {
                wrong += tests::same_bits(sum[i], expected[i]) ? 0u : 1u;
            }
            CHECK(wrong == 0);
            CHECK(outcome.sum_of_squares == squares);
            CHECK(outcome.is_finite);
        };
        check(half, tests::slow::half_value);
        check(bfloat, tests::slow::bfloat16_value);
    }
    std::vector<float> sum(1);
    CHECK_FALSE(kernels::accumulate(sum, std::vector<kernels::Half>{{0x7c00}}, 1).is_finite);
}

TEST_CASE("accumulate reports a sum that is not finite, also in later calls", "[kernels]") {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    for (const float bad : {kInfinity, -kInfinity, kNan}) {
        for (const std::size_t place : {std::size_t{0}, std::size_t{1500}, std::size_t{2999}}) {
            std::vector<float> sum(3000, 1.0f);
            std::vector<float> gradient(3000, 1.0f);
            gradient[place] = bad;
            CHECK_FALSE(kernels::accumulate(sum, gradient, 1).is_finite);
            gradient[place] = -bad;
            CHECK_FALSE(kernels::accumulate(sum, gradient, 1).is_finite);
        }
    }
    std::vector<float> sum{3e38f};
    const std::vector<float> gradient{3e38f};
    CHECK_FALSE(kernels::accumulate(sum, gradient, 1).is_finite);
}

TEST_CASE("accumulate refuses misuse in one sentence", "[kernels]") {
    std::vector<float> sum(8);
    const auto refuses = [&](const auto& gradient) {
        using Element = std::decay_t<decltype(gradient[0])>;
        const std::span<const Element> all{gradient};
        CHECK(tests::aborts_saying("another length",
                                   [&] { kernels::accumulate(sum, all.first(7), 1); }));
        for (const float scale : {INFINITY, -INFINITY, NAN}) {
            CHECK(tests::aborts_saying("must be finite",
                                       [&] { kernels::accumulate(sum, all, scale); }));
        }
        const auto* const own = reinterpret_cast<const Element*>(sum.data() + 7);
        CHECK(tests::aborts_saying("overlaps its sum", [&] {
            kernels::accumulate(sum, std::span<const Element>{own, 8}, 1);
        }));
        CHECK(tests::aborts_saying("more elements", [&] {
            kernels::accumulate(tests::too_long(sum),
                                std::span<const Element>{all.data(), kernels::kMaxElements + 1}, 1);
        }));
    };
    refuses(std::vector<float>(8));
    refuses(std::vector<kernels::Half>(8));
    refuses(std::vector<kernels::Bfloat16>(8));
}
