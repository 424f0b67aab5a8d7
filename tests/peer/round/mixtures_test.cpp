// Which changes of a mixture are in force, by the records of decided rounds.
#include "peer/round/mixtures.hpp"

#include <catch2/catch.hpp>

namespace dedloc::round {
namespace {

SharedMixture list_of(std::uint64_t version, const std::vector<std::uint64_t>& steps) {
    SignedMixture mixture{.version = version, .changes = {}, .signature = {}};
    for (const std::uint64_t step : steps) {
        mixture.changes.push_back({.from = StepIndex{step}, .weights = {step, 1}});
    }
    return std::make_shared<const SignedMixture>(mixture);
}

Digest name_from(std::uint64_t step) {
    return digest_of(MixtureChange{.from = StepIndex{step}, .weights = {step, 1}});
}

CommitRecord decided(std::uint64_t step, std::optional<Digest> mixture) {
    CommitRecord record;
    record.step = StepIndex{step};
    record.mixture = mixture;
    return record;
}

TEST_CASE("only a higher version replaces a list", "[averaging]") {
    Mixtures mixtures{nullptr};
    CHECK(mixtures.version() == 0);
    CHECK_FALSE(mixtures.at(StepIndex{50}));
    CHECK_FALSE(mixtures.compare(decided(10, {})));
    REQUIRE(mixtures.take(list_of(2, {10, 20})));
    CHECK_FALSE(mixtures.take(list_of(2, {30})));
    CHECK_FALSE(mixtures.take(list_of(1, {30})));
    CHECK_FALSE(mixtures.take(nullptr));
    CHECK_FALSE(mixtures.at(StepIndex{9}));
    CHECK(mixtures.at(StepIndex{10}) == name_from(10));
    CHECK(mixtures.at(StepIndex{20}) == name_from(20));
    REQUIRE(mixtures.take(list_of(3, {10, 30})));
    CHECK(mixtures.at(StepIndex{20}) == name_from(10));
}

TEST_CASE("a change is void once a round of its steps was decided without it", "[averaging]") {
    Mixtures mixtures{list_of(1, {10, 20, 40})};
    CHECK_FALSE(mixtures.compare(decided(9, {})));
    CHECK_FALSE(mixtures.compare(decided(12, name_from(10))));
    // The round of step 25 was drawn by the change before: the one from 20 on came too late.
    REQUIRE(mixtures.compare(decided(25, name_from(10))));
    CHECK(mixtures.at(StepIndex{25}) == name_from(10));
    CHECK(mixtures.at(StepIndex{30}) == name_from(10));
    CHECK(mixtures.at(StepIndex{40}) == name_from(40));
    CHECK(mixtures.as_signed()->changes.size() == 3);
    CHECK_FALSE(mixtures.compare(decided(26, name_from(10))));
    // A newcomer that has heard of the list only, and then sees the last record.
    Mixtures late{list_of(1, {10, 20, 40})};
    REQUIRE(late.compare(decided(30, {})));
    CHECK_FALSE(late.at(StepIndex{30}));
    CHECK(late.at(StepIndex{40}) == name_from(40));
}

TEST_CASE("a record that names an unknown change makes nothing void", "[averaging]") {
    Mixtures mixtures{list_of(1, {10})};
    CHECK_FALSE(mixtures.compare(decided(25, name_from(20))));
    CHECK(mixtures.at(StepIndex{25}) == name_from(10));
    REQUIRE(mixtures.take(list_of(2, {10, 20})));
    CHECK(mixtures.at(StepIndex{25}) == name_from(20));
}

TEST_CASE("a change that was void is in force if its step comes again with it", "[averaging]") {
    Mixtures mixtures{list_of(1, {10})};
    REQUIRE(mixtures.compare(decided(12, {})));
    CHECK_FALSE(mixtures.at(StepIndex{12}));
    // A generation goes on from an earlier state, and its coordinator knows of the change.
    REQUIRE(mixtures.compare(decided(10, name_from(10))));
    CHECK(mixtures.at(StepIndex{11}) == name_from(10));
}

}  // namespace
}  // namespace dedloc::round
