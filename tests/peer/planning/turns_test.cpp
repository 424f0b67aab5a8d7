// Which trainers take part in which rounds: fleets with an obvious answer, and properties.
#include <catch2/catch.hpp>

#include "peer/planning/turns.hpp"
#include "tests/peer/planning/fleets.hpp"

using namespace dedloc;
using namespace dedloc::planning;

namespace {

constexpr std::uint64_t kElements = 18'000'000;  // 288 Mbit in fp16

/// Trainers with 10 samples a second in micro-batches of 0.1 s, and then these others.
FleetRequest fleet_with(PlanRequest round, double seconds_of_computing) {
    const std::size_t count = round.members.size();
    return {.round = std::move(round),
            .samples_per_second = std::vector<double>(count, 10),
            .micro_batch_seconds = std::vector<double>(count, 0.1),
            .target_batch =
                static_cast<std::uint64_t>(seconds_of_computing * 10 * static_cast<double>(count))};
}

std::size_t count_of(const TurnChoice& choice, TurnKind kind) {
    return static_cast<std::size_t>(std::ranges::count(choice.turns, kind, &Turn::kind));
}

}  // namespace

TEST_CASE("equal trainers are in every round", "[planning]") {
    const auto chosen = choose_turns(fleet_with(fleet_of({{8, 100, 100}}, kElements, kHalf), 10));
    REQUIRE(chosen);
    CHECK(count_of(*chosen, TurnKind::kEveryRound) == 8);
    CHECK(chosen->chosen.samples_per_second == chosen->all.samples_per_second);
}

TEST_CASE(
    "a trainer whose link makes rounds long rests if batches are short, and not if they are "
    "long",
    "[planning]") {
    const PlanRequest round = fleet_of({{8, 100, 100}, {1, 5, 5}}, kElements, kHalf);
    const auto often = choose_turns(fleet_with(round, 30));
    REQUIRE(often);
    CHECK(often->turns.back().kind == TurnKind::kRest);
    CHECK(count_of(*often, TurnKind::kEveryRound) == 8);
    CHECK(often->chosen.samples_per_second > 1.5 * often->all.samples_per_second);
    const auto rarely = choose_turns(fleet_with(round, 3'000));
    REQUIRE(rarely);
    CHECK(rarely->turns.back().kind == TurnKind::kEveryRound);
}

TEST_CASE("a trainer with a slow upload takes part in some rounds where that is worth a long round",
          "[planning]") {
    const auto chosen =
        choose_turns(fleet_with(fleet_of({{2, 100, 100}, {1, 10, 100}}, kElements, kHalf), 30));
    REQUIRE(chosen);
    CHECK(chosen->turns.back().kind == TurnKind::kSomeRounds);
    CHECK(chosen->turns.back().every >= 2);
    CHECK(chosen->turns.back().every <= wire::kMaxStaleSteps);
    CHECK(chosen->chosen.samples_per_second > chosen->all.samples_per_second);
}

TEST_CASE(
    "no member waits for a long micro-batch; if samples grow too old the trainer reduces or "
    "rests",
    "[planning]") {
    FleetRequest request = fleet_with(fleet_of({{9, 100, 100}}, kElements, kHalf), 10);
    request.micro_batch_seconds.back() = 20;
    request.samples_per_second.back() = 0.5;
    const auto chosen = choose_turns(request);
    REQUIRE(chosen);
    CHECK(chosen->turns.back().kind == TurnKind::kWhenDone);
    CHECK(chosen->turns.back().every >= 2);
    CHECK(chosen->chosen.wait_seconds < 0.2);
    CHECK(chosen->all.wait_seconds >= 10);
    CHECK(chosen->chosen.samples_per_second > 1.3 * chosen->all.samples_per_second);
    request.micro_batch_seconds.back() = 600;
    const auto too_old = choose_turns(request);
    REQUIRE(too_old);
    CHECK(too_old->turns.back().kind >= TurnKind::kReduceOnly);
    // A better link than the others': it reduces.
    request.round.members.back().upload = Bandwidth{2'500 * kMegabit};
    request.round.members.back().download = Bandwidth{2'500 * kMegabit};
    const auto reducing = choose_turns(request);
    REQUIRE(reducing);
    CHECK(reducing->turns.back().kind == TurnKind::kReduceOnly);
}

TEST_CASE("with overlap a slow link costs nothing as long as the computing takes longer",
          "[planning]") {
    FleetRequest request = fleet_with(fleet_of({{8, 100, 100}, {1, 5, 5}}, kElements, kHalf), 200);
    request.overlaps = true;
    const auto chosen = choose_turns(request);
    REQUIRE(chosen);
    CHECK(count_of(*chosen, TurnKind::kEveryRound) == 9);
    CHECK(chosen->chosen.samples_per_second == Approx(90).epsilon(0.01));
}

TEST_CASE("the choice is never predicted to be slower than every trainer in every round",
          "[planning][property]") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        INFO("seed " << seed);
        Random random{seed};
        PlanRequest round;
        const std::size_t count = 1 + random.below(40);
        for (std::size_t k = 0; k < count; ++k) {
            round.members.push_back({.upload = random_speed(random),
                                     .download = random_speed(random),
                                     .is_reachable = k == 0 || random.below(3) > 0});
        }
        set_vector(round, 1'000'000, kHalf);
        FleetRequest request = fleet_with(std::move(round), 1 + random.uniform() * 100);
        request.overlaps = random.below(2) == 1;
        for (std::size_t k = 0; k < count; ++k) {
            request.samples_per_second[k] = 0.1 + 20 * random.uniform();
            request.micro_batch_seconds[k] = 0.1 + 30 * random.uniform() * random.uniform();
        }
        const auto chosen = choose_turns(request);
        REQUIRE(chosen);
        REQUIRE(chosen->turns.size() == count);
        CHECK(count_of(*chosen, TurnKind::kEveryRound) >= 1);
        CHECK(chosen->chosen.samples_per_second >= 0.999 * chosen->all.samples_per_second);
        const auto again = predict(request, chosen->turns);
        REQUIRE(again);
        CHECK(again->samples_per_second == Approx(chosen->chosen.samples_per_second).epsilon(1e-6));
    }
}
