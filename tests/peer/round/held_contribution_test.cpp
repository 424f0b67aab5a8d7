#include "peer/round/held_contribution.hpp"

#include <catch2/catch.hpp>
#include <memory>

namespace dedloc::round {
namespace {

/// A contribution that rounding takes something from.
Contribution contribution_of(std::uint64_t samples) {
    if (samples == 0) return {};
    return {.samples = Samples{samples},
            .loss_sum = 1,
            .is_finite = true,
            .sum = std::make_shared<FloatVector>(16, 1.0F + 1.0F / 4'096)};
}

CommitLine line_of(std::uint64_t samples) {
    return {.peer = {}, .samples = Samples{samples}, .loss_sum = 1, .reduced = 0};
}

HeldContribution held(std::uint64_t samples) {
    HeldContribution held{Codec::kFp16, 7};
    held.begin(StepIndex{3});
    held.hold(contribution_of(samples));
    return held;
}

}  // namespace

TEST_CASE("a contribution that is counted leaves its rounding error", "[averaging]") {
    HeldContribution contribution = held(8);
    CHECK(contribution.id() == 8);
    contribution.offer();
    const CommitLine own = line_of(8);
    CHECK(contribution.settle(&own, false));
    CHECK_FALSE(contribution.is_offered());
    CHECK_FALSE(contribution.is_held());
    CHECK(contribution.residual() != nullptr);
}

TEST_CASE("a record that counts other samples drops the rounding error", "[averaging]") {
    HeldContribution contribution = held(8);
    const CommitLine own = line_of(5);
    CHECK_FALSE(contribution.settle(&own, true));
    CHECK_FALSE(contribution.is_held());
    CHECK(contribution.residual() == nullptr);
}

TEST_CASE("a contribution that is not counted goes, unless it waits for another round",
          "[averaging]") {
    HeldContribution kept = held(8);
    CHECK(kept.settle(nullptr, true));
    CHECK(kept.is_held());
    CHECK_FALSE(kept.is_older_than(1, StepIndex{4}));
    CHECK(kept.is_older_than(1, StepIndex{5}));
    HeldContribution gone = held(8);
    const CommitLine without = line_of(0);
    CHECK(gone.settle(&without, false));
    CHECK_FALSE(gone.is_held());
}

TEST_CASE("a contribution without samples is nothing to offer", "[averaging]") {
    HeldContribution contribution = held(0);
    contribution.offer();
    CHECK_FALSE(contribution.is_offered());
}

}  // namespace dedloc::round
