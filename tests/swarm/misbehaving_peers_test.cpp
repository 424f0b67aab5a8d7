// Nine real processes on loopback for each misbehaviour: a DHT seed, a backbone, seven honest
// trainers, and one that misbehaves (`hostile_peer`). The run goes on and all members have the
// same states. Prints how long it takes to the last step that is awaited, beside the time without a
// liar.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/hostile/misbehaviour.hpp"
#include "tests/swarm/process_swarm.hpp"

using namespace dedloc;
using namespace dedloc::test;
using namespace std::chrono_literals;
using hostile::Misbehaviour;

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = ProcessSwarm::Seconds;

constexpr std::array kHonestTrainers{"ann", "bob", "cleo", "dan", "eve", "fay", "gus"};
constexpr const char* kLiar = "mallory";
/// A step takes 0.4 seconds or more.
constexpr std::uint64_t kSteps = 10;
constexpr std::uint64_t kTargetBatch = 280;
/// The test fails if the swarm has not reached the last step by then. Not a measure of speed.
constexpr Seconds kDeadline = 180s;

struct LeftOut {
    Misbehaviour misbehaviour;
    const char* why;
};
constexpr std::array kLeftOut{
    LeftOut{Misbehaviour::kClosedWindow, "the simulated network does it, no frame of a peer"},
    LeftOut{Misbehaviour::kFalseProposal,
            "the backbone is the only voter of a run of dedloc-peer: no other can propose"}};

struct Outcome {
    Seconds time{};            ///< until every honest member has the last step and was in a round
    std::size_t bytes = 0;     ///< most resident memory of an honest member
    std::uint64_t rounds = 0;  ///< rounds of the honest trainer that was in the fewest
};

/// Runs until all honest members have reached the last step. An empty name: without a liar.
Outcome run_beside(const std::string& misbehaviour) {
    ProcessSwarm swarm({.program = DEDLOC_PEER_PROGRAM,
                        .hostile_program = DEDLOC_HOSTILE_PEER_PROGRAM,
                        .steps = 100'000,
                        .target_batch = kTargetBatch,
                        .has_tickets = true});
    const auto begin = Clock::now();
    swarm.start_seed();
    swarm.start("backbone", {"--backbone", "--memory", (swarm.folder() / "votes").string()});
    const std::vector<std::string> trainer{"--samples-per-second", "100"};
    if (!misbehaviour.empty()) {
        std::vector<std::string> liar = trainer;
        liar.insert(liar.end(), {"--misbehave", misbehaviour});
        swarm.start(kLiar, liar);
    }
    for (const char* name : kHonestTrainers) swarm.start(name, trainer);
    const auto has_arrived = [&](const char* name) { return swarm.of(name).step >= kSteps; };
    // On a busy machine one may come so late that it only loads that step.
    const auto was_in_a_round = [&](const char* name) { return swarm.of(name).rounds > 0; };
    swarm.await("the last step beside " + misbehaviour, kDeadline, [&] {
        return has_arrived("backbone") && std::ranges::all_of(kHonestTrainers, has_arrived) &&
               std::ranges::all_of(kHonestTrainers, was_in_a_round);
    });
    Outcome outcome{.time = Clock::now() - begin, .rounds = swarm.step()};
    for (const char* name : kHonestTrainers) {
        outcome.bytes = std::max(outcome.bytes, swarm.peak_resident_bytes(name));
        outcome.rounds = std::min(outcome.rounds, swarm.of(name).rounds);
    }
    return outcome;
}

void print(const std::string& name, const Outcome& outcome) {
    std::printf("%-20s %5.1f s to step %llu, honest members in %llu rounds or more, %zu MB\n",
                name.c_str(), outcome.time.count(), static_cast<unsigned long long>(kSteps),
                static_cast<unsigned long long>(outcome.rounds), outcome.bytes / 1'000'000);
    std::fflush(stdout);
}

bool is_left_out(const std::string& name) {
    const auto is_it = [&](const LeftOut& one) { return name == name_of(one.misbehaviour); };
    return std::ranges::any_of(kLeftOut, is_it);
}

/// The run with no liar, measured once for all sections.
const Outcome& honest_outcome() {
    static const Outcome outcome = [] {
        for (const LeftOut& one : kLeftOut) {
            std::printf("%-20s left out: %s\n", name_of(one.misbehaviour), one.why);
        }
        const Outcome honest = run_beside("");
        print("no liar", honest);
        return honest;
    }();
    return outcome;
}

}  // namespace

// One of them: -c NAME.
TEST_CASE("a swarm of processes goes on beside each misbehaviour", "[averaging][misbehaving]") {
    const Outcome& honest = honest_outcome();
    for (const char* name : hostile::kMisbehaviourNames) {
        if (is_left_out(name)) continue;
        DYNAMIC_SECTION(name) {
            const Outcome outcome = run_beside(name);
            print(name, outcome);
            CHECK(outcome.bytes < honest.bytes + (std::size_t{128} << 20));
        }
    }
}
