#include "kernels/global_norm.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/finite.hpp"
#include "tests/kernels/aborts.hpp"
#include "tests/kernels/inputs.hpp"
#include "tests/kernels/slow_reference.hpp"

using namespace dedloc;
using namespace dedloc::kernels;

TEST_CASE("a sum of squares follows the fixed tree", "[kernels]") {
    for (const std::size_t count : tests::kSizes) {
        const auto values = tests::adversarial(Random{count}, count);
        CHECK(sum_of_squares(values) == tests::slow::tree_of_squares(values));
    }
    const auto values = tests::ordinary(Random{9}, 5 * 65'536 + 777);
    CHECK(sum_of_squares(values) == tests::slow::tree_of_squares(values));
    double in_a_row = 0;
    for (const float x : values) in_a_row += static_cast<double>(x) * static_cast<double>(x);
    CHECK(sum_of_squares(values) == Approx(in_a_row).epsilon(1e-12));
}

TEST_CASE("more segments than lanes still follow the fixed tree", "[kernels][.slow]") {
    const auto values = tests::ordinary(Random{9}, std::size_t{1030} * 65'536 + 5);
    CHECK(sum_of_squares(values) == tests::slow::tree_of_squares(values));
}

TEST_CASE("a norm is finite exactly if every element is", "[kernels]") {
    std::vector<float> values(70'000, std::numeric_limits<float>::max());
    CHECK(std::isfinite(global_norm(values)));
    CHECK(all_finite(values));
    for (const float bad : {INFINITY, -INFINITY, NAN, -NAN}) {
        for (const std::size_t place : {std::size_t{0}, std::size_t{16'384}, std::size_t{69'999}}) {
            auto copy = values;
            copy[place] = bad;
            CHECK_FALSE(std::isfinite(global_norm(copy)));
            CHECK_FALSE(all_finite(copy));
        }
    }
    CHECK(all_finite({}));
    CHECK(all_below(values, INFINITY));
    CHECK_FALSE(all_below(values, std::numeric_limits<float>::max()));
    CHECK(all_below(std::vector<float>{-1.5F, 1.0F, 0.0F}, 2.0F));
    CHECK_FALSE(all_below(std::vector<float>{-2.0F, 1.0F, 0.0F}, 2.0F));
    CHECK_FALSE(all_below(std::vector<float>{1.0F, NAN}, INFINITY));
    CHECK(global_norm({}) == 0);
}

TEST_CASE("a norm without some ranges is that of a vector with zeros there", "[kernels]") {
    constexpr std::size_t kCount = 70'000;
    const auto values = tests::adversarial(Random{5}, kCount);
    const std::vector<std::vector<ElementRange>> choices{
        {},
        {{0, 1}},
        {{0, kCount}},
        {{3, 5}, {8, 0}, {8, 2'040}, {2'050, 1}, {65'000, 2'000}, {69'999, 1}},
        {{1'024, 1'024}, {kCount - 7, 7}}};
    for (const auto& ignored : choices) {
        auto zeroed = values;
        auto poisoned = values;
        for (const ElementRange& range : ignored) {
            for (std::uint64_t i = range.first; i < range.first + range.count; ++i) {
                zeroed[static_cast<std::size_t>(i)] = 0;
                poisoned[static_cast<std::size_t>(i)] = NAN;
            }
        }
        CHECK(global_norm(poisoned, ignored) == std::sqrt(tests::slow::tree_of_squares(zeroed)));
        CHECK(global_norm(poisoned, ignored) == global_norm(zeroed));
    }
    const auto refuses = [&](const char* sentence, const std::vector<ElementRange>& ranges) {
        return tests::aborts_saying(sentence, [&] { global_norm(values, ranges); });
    };
    CHECK(refuses("overlap or descend", {{5, 2}, {6, 1}}));
    CHECK(refuses("overlap or descend", {{5, 2}, {3, 1}}));
    CHECK(refuses("beyond the end", {{kCount - 1, 2}}));
    CHECK(refuses("beyond the end", {{kCount + 1, ~std::uint64_t{0}}}));
}

TEST_CASE("clipping bounds the norm and leaves short gradients alone", "[kernels]") {
    CHECK(clip_factor(2.0, 1.0f) == 0.5f);
    CHECK(clip_factor(1.0, 1.0f) == 1.0f);
    CHECK(clip_factor(0.0, 1.0f) == 1.0f);
    CHECK(clip_factor(1e30, 0.0f) == 1.0f);
    auto values = tests::ordinary(Random{4}, 100'000, 3);
    const float factor = clip_factor(global_norm(values), 1.5f);
    for (float& x : values) x *= factor;
    // Each product and the factor have a relative error of at most 2⁻²⁴.
    CHECK(std::fabs(global_norm(values) - 1.5) <= 1.5 * 2.001 / 16'777'216);
}

TEST_CASE("norm and clip refuse misuse in one sentence", "[kernels]") {
    CHECK(tests::abort_message([] { clip_factor(NAN, 1); }).find("must be finite") !=
          std::string::npos);
    CHECK(tests::abort_message([] { clip_factor(1, -1); }).find("positive") != std::string::npos);
    std::vector<float> values(2);
    CHECK(tests::aborts_saying("a norm must", [] { clip_factor(-1, 1); }));
    CHECK(tests::aborts_saying("a norm limit must", [] { clip_factor(1, NAN); }));
    CHECK(tests::aborts_saying("more elements", [&] { global_norm(tests::too_long(values)); }));
}
