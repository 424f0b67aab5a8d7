// Advice: which members should compute, whether an aggregator helps, how large the batch should be.
#include <catch2/catch.hpp>

#include "peer/planning/advice.hpp"
#include "tests/peer/planning/fleets.hpp"

using namespace dedloc;
using namespace dedloc::planning;

namespace {

TrainingRequest training(PlanRequest round, double samples_per_second, std::uint64_t batch) {
    const std::size_t count = round.members.size();
    return {.round = std::move(round),
            .samples_per_second = std::vector<double>(count, samples_per_second),
            .target_batch = batch};
}

double step_without(const TrainingRequest& request, std::uint32_t mask) {
    TrainingRequest fewer = request;
    for (std::size_t k = 0; k < fewer.round.members.size(); ++k) {
        if ((mask >> k & 1u) == 0) continue;
        fewer.round.members[k].contributes = false;
        fewer.round.members[k].receives = false;
    }
    const auto pace = pace_of(fewer);
    return pace ? pace->step_seconds() : 1e30;
}

/// The shortest step over every subset of trainers.
double best_step(const TrainingRequest& request) {
    double best = 1e30;
    for (std::uint32_t mask = 0; mask + 1 < 1u << request.round.members.size(); ++mask) {
        best = std::min(best, step_without(request, mask));
    }
    return best;
}

}  // namespace

TEST_CASE("a step takes the target batch at the total speed and then the round", "[planning]") {
    TrainingRequest request =
        training(fleet_of({{16, 200, 200}, {1, 2'500, 2'500, false}}, kAlbert, kHalf), 10, 4'800);
    request.round.latency = std::chrono::milliseconds{100};
    const auto pace = pace_of(request);
    REQUIRE(pace);
    // The aggregator does not contribute: its ten samples a second do not count.
    CHECK(pace->computing_seconds == Approx(30));
    const auto plan = plan_shares(request.round);
    CHECK(pace->round_seconds ==
          Approx(std::chrono::duration<double>(plan->optimum).count() + 0.2));
    const auto batch = batch_for(request, 0.9);
    REQUIRE(batch);
    CHECK(static_cast<double>(*batch) == Approx(160 * pace->round_seconds * 9).epsilon(1e-3));
}

TEST_CASE("slow links stop computing when rounds are expensive, not when batches are",
          "[planning]") {
    const PlanRequest fleet = fleet_of({{4, 200, 200}, {8, 100, 100}, {4, 5, 5}}, kAlbert, kHalf);
    const auto often = choose_trainers(training(fleet, 10, 500));
    REQUIRE(often);
    CHECK(often->dropped.size() >= 4);
    CHECK(std::find(often->dropped.begin(), often->dropped.end(), PeerIndex{12}) !=
          often->dropped.end());
    const auto rarely = choose_trainers(training(fleet, 10, 1'000'000));
    REQUIRE(rarely);
    CHECK(rarely->dropped.empty());
}

TEST_CASE("with equal computers no other choice makes shorter steps", "[planning][property]") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        INFO("seed " << seed);
        Random random{seed};
        PlanRequest fleet;
        for (int k = 0; k < 6; ++k) {
            const Bandwidth speed = random_speed(random);
            fleet.members.push_back({.upload = speed, .download = speed});
        }
        set_vector(fleet, 1'000'000, kHalf);
        const TrainingRequest request =
            training(std::move(fleet), 1, 10 + random.below(std::uint64_t{1} << random.below(20)));
        const auto choice = choose_trainers(request);
        REQUIRE(choice);
        CHECK(choice->pace.step_seconds() == Approx(best_step(request)).epsilon(1e-9));
    }
}

TEST_CASE("with unequal computers the choice is nearly optimal", "[planning][property]") {
    double worst = 1;
    double sum = 0;
    constexpr int kFleets = 300;
    for (std::uint64_t seed = 0; seed < kFleets; ++seed) {
        Random random{seed};
        PlanRequest fleet;
        for (int k = 0; k < 6; ++k) {
            fleet.members.push_back({.upload = Bandwidth{(10 + random.below(190)) * kMegabit},
                                     .download = Bandwidth{(10 + random.below(990)) * kMegabit},
                                     .is_reachable = k == 0 || random.below(3) > 0});
        }
        set_vector(fleet, kAlbert, kHalf);
        TrainingRequest request =
            training(std::move(fleet), 1, 10 + random.below(std::uint64_t{1} << random.below(14)));
        for (double& speed : request.samples_per_second) speed = 1 + 20 * random.uniform();
        const auto choice = choose_trainers(request);
        REQUIRE(choice);
        const double ratio = choice->pace.step_seconds() / best_step(request);
        worst = std::max(worst, ratio);
        sum += ratio;
    }
    INFO("worst " << worst << ", mean " << sum / kFleets << " of the best choice's step");
    CHECK(worst <= 1.03);
    CHECK(sum / kFleets <= 1.001);
}

TEST_CASE("an aggregator helps where links are full and not where one member is slow",
          "[planning]") {
    const Bandwidth bandwidth{2'500 * kMegabit};
    const LinkSpeed link{.upload = bandwidth, .download = bandwidth};
    const PlanRequest full = fleet_of({{16, 200, 200}}, kAlbert, kHalf);
    CHECK(optimum_with_aggregator(full, link) < plan_shares(full)->optimum * 2 / 3);
    const PlanRequest slow = fleet_of({{4, 200, 200}, {8, 100, 100}, {4, 50, 50}}, kAlbert, kHalf);
    CHECK(optimum_with_aggregator(slow, link) == plan_shares(slow)->optimum);
}

TEST_CASE("without a member that computes there is no pace", "[planning]") {
    CHECK_FALSE(pace_of(training(fleet_of({{2, 10, 10}}, kAlbert, kHalf), 0, 10)));
    CHECK_FALSE(choose_trainers(training(fleet_of({{2, 10, 10, false}}, kAlbert, kHalf), 5, 10)));
    CHECK_FALSE(
        batch_for(training(fleet_of({{2, 10, 10, true, false}}, kAlbert, kHalf), 5, 10), 0.5));
}
