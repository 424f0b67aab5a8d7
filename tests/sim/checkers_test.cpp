// The checkers alone: they accept what an honest swarm may decide, and refuse what it may not.
#include "tests/simulation/checkers.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "tests/peer/core/hand_fed.hpp"

using namespace dedloc;
using namespace dedloc::simulation;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

constexpr std::uint64_t kSamplesPerSecond = 10;
constexpr std::uint64_t kTargetBatch = 20;

const KeyPair kBackbone = tests::test_key(1);
const KeyPair kTrainer = tests::test_key(2);

/// One backbone decides rounds with one trainer, ten seconds each.
struct Run {
    Run() : history(kBackbone) { reach(); }
    void reach() { checkers.reached(0, history.head().step, history.state()); }
    /// The trainer has frozen this, with as many samples as it computes in `time`.
    void freeze(Duration time, double loss_sum) {
        const auto samples = static_cast<std::uint64_t>(time / 1s) * kSamplesPerSecond;
        const StepIndex step = history.head().step;
        const Frozen frozen{.step = step,
                            .state = history.state(),
                            .contribution = {.samples = Samples{samples},
                                             .loss_sum = loss_sum,
                                             .is_finite = true,
                                             .sum = nullptr},
                            .parts = {{.step = step,
                                       .state = history.state(),
                                       .first_sample = next_sample,
                                       .samples = samples}}};
        next_sample += samples;
        checkers.frozen(kTrainer.public_key(), frozen, false);
    }
    /// The record of the next round counts these samples.
    void decide(std::uint64_t samples, double loss_sum) {
        now += 10s;
        CommitRecord record{.generation = 0,
                            .step = history.head().step,
                            .previous_record = history.head().record,
                            .previous_state = history.state(),
                            .members = {{.peer = kTrainer.public_key(),
                                         .samples = Samples{samples},
                                         .loss_sum = loss_sum,
                                         .reduced = 1}},
                            .average = {},
                            .scalars = {}};
        checkers.committed({record, history.certify(record)}, now, {});
        history.follow(record);
        reach();
    }

    tests::WrittenHistory history;
    Checkers checkers{{.run = {},
                       .project = {},
                       .backbone = kBackbone.public_key(),
                       .scalars_of = [](StepIndex) { return UpdateScalars{}; },
                       .target_batch = Samples{kTargetBatch},
                       .computes_averages = false}};
    TimePoint now{};
    std::uint64_t next_sample = 0;
};

/// What the checkers say about this record; empty: they accept it.
std::string violation_in(Run& run, std::uint64_t samples, double loss_sum = 0) {
    try {
        run.decide(samples, loss_sum);
    } catch (const Violation& violation) {
        return violation.what();
    }
    return {};
}

}  // namespace

TEST_CASE("the loss of a contribution counts as far as it is accepted", "[averaging][sim]") {
    constexpr std::uint64_t kSamples = 10 * kSamplesPerSecond;
    constexpr double kMax = 1'000.0 * kSamples;
    Run run;
    run.freeze(10s, 2 * kMax);
    SECTION("cut") {
        CHECK(violation_in(run, kSamples, kMax).empty());
    }
    SECTION("as it is") {
        CHECK_THAT(violation_in(run, kSamples, 2 * kMax), Contains("has frozen no such ones"));
    }
}

TEST_CASE("a hostile member may claim what it has computed since its samples counted last",
          "[averaging][sim]") {
    Run run;
    run.checkers.set_hostile(kTrainer.public_key(), kSamplesPerSecond);
    for (int k = 0; k < 4; ++k) run.decide(10 * kSamplesPerSecond, 0);
    SECTION("in every round: since the last decision") {
        CHECK(violation_in(run, 13 * kSamplesPerSecond).empty());
        CHECK_THAT(violation_in(run, 20 * kSamplesPerSecond), Contains("at most 136"));
    }
    SECTION("in another turn: since the round that counted them") {
        run.checkers.has_turn(kTrainer.public_key(), TurnKind::kSomeRounds);
        CHECK(violation_in(run, 20 * kSamplesPerSecond).empty());
        CHECK_THAT(violation_in(run, 30 * kSamplesPerSecond), Contains("at most 242"));
    }
}
