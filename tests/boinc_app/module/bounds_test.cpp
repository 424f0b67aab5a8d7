// Costs of a bounded pass, and what it counts.
#include "boinc_app/module/bounds.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>

#include "boinc_app/module/script_module.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/base/units.hpp"
#include "tests/boinc_app/module/fixtures.hpp"

namespace dedloc::training::module {
namespace {

TEST_CASE("a module's operations are those of its matrix products and convolutions", "[module]") {
    set_compute_threads(1);
    test::BoundModule gpt{"gpt.pt"};
    const auto tokens = test::inputs_of(test::shard_fixture("gpt.shard"));
    // For each of 5 × 15 tokens: two layers of 12 × 8² weights, 60 × 8 logits; scores and mixes of
    // 4 heads of width 2. Three times, for forward and backward.
    constexpr double kTokens = 5 * 15;
    constexpr double kForward = kTokens * 2 * (2 * 12 * 64 + 60 * 8 + 2 * 2 * 15 * 8);
    const PassCost cost = gpt.loaded.measure(tokens);
    CHECK(cost.operations == 3 * kForward);
    CHECK(cost.bytes > 50'000);
    CHECK(cost.bytes < 1'000'000);

    test::BoundModule convnet{"convnet.pt"};
    const auto pictures = test::inputs_of(test::shard_fixture("convnet.shard"));
    // 8 × 8 places of 8 × 3 × 9 weights, 4 × 4 of 16 × 8 × 9, 4 × 16; the picture has no gradient,
    // but libtorch's formula counts both of a convolution.
    constexpr double kPlaces = 64 * 8 * 27 + 16 * 16 * 72 + 4 * 16;
    CHECK(convnet.loaded.measure(pictures).operations == 3 * 5 * 2 * kPlaces);
}

TEST_CASE("the time of a pass's operators", "[.][module]") {
    set_compute_threads(1);
    test::BoundModule bound{"gpt.pt"};
    const auto inputs = test::inputs_of(test::shard_fixture("gpt.shard"));
    std::uint64_t operators = 0;
    const IsInterrupted counts = [&operators] { return ++operators == 0; };
    bound.loaded.add_gradient(inputs, bound.sum, counts);
    constexpr int kPasses = 2'000;
    const auto begin = std::chrono::steady_clock::now();
    for (int pass = 0; pass < kPasses; ++pass) bound.loaded.add_gradient(inputs, bound.sum, {});
    const double seconds = seconds_of(std::chrono::steady_clock::now() - begin);
    std::printf("%llu operators in %.1f us\n", static_cast<unsigned long long>(operators),
                seconds / kPasses * 1e6);
}

}  // namespace
}  // namespace dedloc::training::module
