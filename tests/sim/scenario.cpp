#include "tests/sim/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>

#include "peer/base/random.hpp"
#include "tests/simulation/replay.hpp"

namespace dedloc::sim {
namespace {

const simulation::TestWorld* watched = nullptr;

void print(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
}

void print_watched(int signal) {
    std::signal(signal, SIG_DFL);
    if (watched != nullptr) {
        print(watched->describe());
    }
    std::raise(signal);
}

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr || *text == 0 ? otherwise : std::strtoull(text, nullptr, 0);
}

}  // namespace

/// Prints the trace here, as Catch would wrap its long lines.
CATCH_TRANSLATE_EXCEPTION(const simulation::Violation& violation) {
    const std::string text = violation.what();
    print("violation: " + text);
    return text.substr(0, text.find('\n'));
}

std::vector<std::uint64_t> seeds(std::uint64_t count) {
    if (const std::uint64_t one = number_from("DEDLOC_SEED", 0); one != 0) return {one};
    std::uint64_t shard = 1, shards = 1;
    if (const char* text = std::getenv("DEDLOC_SHARD"); text != nullptr) {
        char* rest = nullptr;
        shard = std::strtoull(text, &rest, 10);
        shards = *rest == '/' ? std::strtoull(rest + 1, nullptr, 10) : 0;
        REQUIRE((shard >= 1 && shard <= shards));
    }
    std::vector<std::uint64_t> mine;
    for (std::uint64_t s = shard; s <= count; s += shards) mine.push_back(s);
    return mine;
}

std::vector<std::uint64_t> seeds_or_more(std::uint64_t count) {
    return seeds(std::max(count, number_from("DEDLOC_SEEDS", 0)));
}

std::string test_argument(const std::string& name) {
    std::string argument = "'";
    for (const char c : name) {
        if (std::string_view{"\\,[]\"~"}.find(c) != std::string_view::npos) argument += '\\';
        argument += c == '\'' ? "'\\''" : std::string{c};
    }
    return argument + "'";
}

std::string replay_command(std::uint64_t seed) {
    return "DEDLOC_SEED=" + std::to_string(seed) + " build/release/tests/sim/" +
           program_invocation_short_name + " " +
           test_argument(Catch::getResultCapture().getCurrentTestName());
}

simulation::TestWorldOptions options_for(std::uint64_t seed, const RoundRules& rules) {
    simulation::TestWorldOptions options;
    options.rules = rules;
    options.keeps_whole_trace = std::getenv("DEDLOC_TRACE") != nullptr;
    options.replay = replay_command(seed);
    return options;
}

RoundRules quick_rules(std::uint64_t steps, std::uint64_t elements) {
    RoundRules rules;
    rules.elements = elements;
    rules.target_batch = Samples{96};
    rules.last_step = StepIndex{steps};
    return rules;
}

Codec drawn_codec(std::uint64_t seed) {
    return static_cast<Codec>(Random{seed}.split(78).below(kCodecNames.size()));
}

Watch::Watch(const simulation::TestWorld& world) {
    watched = &world;
    std::signal(SIGABRT, print_watched);
}

Watch::~Watch() {
    if (std::getenv("DEDLOC_HASHES") != nullptr) {
        print(fmt::format("seed {}: {:016x}\n", watched->seed(), watched->trace_hash()));
    }
    watched = nullptr;
}

void require_within(simulation::TestWorld& world, Duration limit, const std::string& what,
                    const std::function<bool()>& is_done) {
    if (world.run_until(is_done, limit)) return;
    std::string text = what + ": not in time\n";
    for (const std::string& note : world.trace().notes()) text += note + "\n";
    print(text + world.describe());
    FAIL(what << ": not in time");
}

void require_all_at(simulation::TestWorld& world, StepIndex step, Duration limit) {
    require_within(world, limit, "all peers at step " + std::to_string(step.value()),
                   [&] { return world.are_all_at(step); });
}

void require_clean_history(const simulation::TestWorld& world, std::uint64_t steps) {
    const auto rounds = world.checkers().history();
    REQUIRE(rounds.size() == steps);
    REQUIRE(world.checkers().newest_step() == StepIndex{steps});
    for (std::uint64_t s = 0; s < steps; ++s) REQUIRE(rounds[s].record.step == StepIndex{s});
    for (const auto& settled : world.settled()) REQUIRE(settled.equal == settled.reported);
}

void visit_contributions(const simulation::TestWorld& world, const ContributionVisitor& visit) {
    for (const simulation::Round& round : world.checkers().history()) {
        REQUIRE_FALSE(round.is_claimed);
        auto contribution = round.contributions.begin();
        for (const CommitLine& line : round.record.members) {
            if (line.samples > Samples{0}) visit(round, line.peer, *contribution++);
        }
    }
}

void require_nothing_lost(const simulation::TestWorld& world) {
    std::map<PeerKey, std::uint64_t> next;
    visit_contributions(world, [&](const simulation::Round& round, const PeerKey& peer,
                                   const simulation::Frozen& frozen) {
        for (const simulation::Part& part : frozen.parts) {
            INFO("step " << round.record.step.value() << " of " << peer.brief());
            const auto at = next.try_emplace(peer, part.first_sample).first;
            REQUIRE(at->second == part.first_sample);
            at->second += part.samples;
        }
    });
}

void require_every_state_equal(const simulation::TestWorld& world, std::uint64_t steps) {
    const auto rounds = world.checkers().history();
    REQUIRE(rounds.size() == steps);
    const auto digests = simulation::train_alone(world.problem(), world.codec(), rounds);
    // The record of step k names its previous state, which is the state after round k − 1.
    for (std::size_t k = 1; k < rounds.size(); ++k) {
        REQUIRE(rounds[k].record.previous_state == digests[k - 1]);
    }
    require_equal_to_one_machine(world);
}

void require_equal_to_one_machine(const simulation::TestWorld& world) {
    const auto digests =
        simulation::train_alone(world.problem(), world.codec(), world.checkers().history());
    REQUIRE(!digests.empty());
    std::size_t holders = 0;
    for (simulation::TestWorld::Id id = 0; id < world.size(); ++id) {
        if (!world.is_up(id) || !world.has_state(id)) continue;
        if (world.step(id) != StepIndex{digests.size()}) continue;
        if (world.trainer(id).is_tainted()) continue;
        REQUIRE(world.digest(id) == digests.back());
        ++holders;
    }
    REQUIRE(holders > 0);
}

}  // namespace dedloc::sim
