// The factor of the loss in half precision.
#include "boinc_app/training/loss_scale.hpp"

#include <catch2/catch.hpp>

namespace dedloc::training {
namespace {

TEST_CASE("gradients that overflow are computed again with half the scale, never skipped",
          "[training]") {
    LossScale scale;
    for (float expected = LossScale::kFirst; expected > 1; expected /= 2) {
        CHECK(scale.value() == expected);
        CHECK_FALSE(scale.accept(false));
    }
    // With a factor of 1 the scale is not the reason: the sum must say that the model diverged.
    CHECK(scale.value() == 1);
    CHECK(scale.accept(false));
    CHECK(scale.value() == 1);
}

TEST_CASE("the scale doubles after many finite gradients in a row, up to its maximum",
          "[training]") {
    LossScale scale;
    const auto accept = [&](unsigned times) {
        for (unsigned i = 0; i < times; ++i) REQUIRE(scale.accept(true));
    };
    accept(LossScale::kGrowthPeriod - 1);
    CHECK(scale.value() == LossScale::kFirst);
    accept(1);
    CHECK(scale.value() == 2 * LossScale::kFirst);
    accept(LossScale::kGrowthPeriod - 1);
    CHECK_FALSE(scale.accept(false));
    CHECK(scale.value() == LossScale::kFirst);
    accept(LossScale::kGrowthPeriod - 1);
    CHECK(scale.value() == LossScale::kFirst);
    accept(100 * LossScale::kGrowthPeriod);
    CHECK(scale.value() == LossScale::kMax);
}

}  // namespace
}  // namespace dedloc::training
