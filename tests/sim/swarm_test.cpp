// The thin protocol in the seeded world.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "tests/sim/world.hpp"

using namespace dedloc;
using namespace std::chrono_literals;
using sim::World;

namespace {

RoundRules rules(std::uint64_t steps, std::uint64_t elements = 2'000) {
    return {.elements = elements, .target_batch = Samples{96}, .last_step = StepIndex{steps}};
}

std::vector<std::uint64_t> seeds(std::uint64_t count) {
    if (const char* one = std::getenv("DEDLOC_SEED")) return {std::strtoull(one, nullptr, 0)};
    std::vector<std::uint64_t> all;
    for (std::uint64_t s = 1; s <= count; ++s) all.push_back(s);
    return all;
}

std::string last_notes(const World& world) {
    std::string text = std::to_string(world.commits().size()) + " commits; ";
    const auto& notes = world.notes();
    const std::size_t first = notes.size() > 12 ? notes.size() - 12 : 0;
    for (std::size_t i = first; i < notes.size(); ++i) text += "\n  " + notes[i];
    return text;
}

void require_clean_history(const World& world, std::uint64_t steps) {
    REQUIRE(world.commits().size() == steps);
    for (std::uint64_t s = 0; s < steps; ++s) REQUIRE(world.commits()[s].step == StepIndex{s});
    REQUIRE(world.settled().size() == steps);
    for (const auto& settled : world.settled()) REQUIRE(settled.equal == settled.reported);
}

}  // namespace

TEST_CASE("three trainers and a backbone finish a run with equal states", "[averaging][sim]") {
    for (const auto seed : seeds(20)) {
        INFO("replay: DEDLOC_SEED=" << seed);
        World world{seed, rules(10)};
        world.add_backbone();
        for (int i = 0; i < 3; ++i) world.add_trainer();
        const bool is_done = world.run_until(
            [&] {
                return world.is_finished(0) && world.is_finished(1) && world.is_finished(2) &&
                       world.is_finished(3);
            },
            60s);
        INFO(last_notes(world));
        REQUIRE(is_done);
        require_clean_history(world, 10);
        for (World::Id id = 1; id <= 3; ++id) {
            REQUIRE(world.state(id).digest() == world.state(0).digest());
        }
        for (std::size_t s = 1; s < 10; ++s) REQUIRE(world.settled()[s].reported == 4);
    }
}

TEST_CASE("parts of several chunks and a state of many are exchanged whole", "[averaging][sim]") {
    World world{1, rules(3, 700'000)};
    world.add_backbone();
    for (int i = 0; i < 2; ++i) world.add_trainer();
    REQUIRE(world.run_until([&] { return world.is_finished(0) && world.is_finished(1); }, 120s));
    require_clean_history(world, 3);
    REQUIRE(world.state(1).digest() == world.state(0).digest());
}

TEST_CASE("the same seed gives the same history", "[averaging][sim]") {
    const auto run = [](std::uint64_t seed) {
        World world{seed, rules(5)};
        world.add_backbone();
        for (int i = 0; i < 3; ++i) world.add_trainer();
        REQUIRE(world.run_until([&] { return world.is_finished(0); }, 60s));
        return world.trace_hash();
    };
    REQUIRE(run(5) == run(5));
    REQUIRE(run(5) != run(6));
}

TEST_CASE("the swarm comes close to the optimum of its quadratic", "[averaging][sim]") {
    World world{3, rules(150)};
    world.add_backbone();
    for (int i = 0; i < 3; ++i) world.add_trainer(50ms);
    REQUIRE(world.run_until([&] { return world.is_finished(0); }, 600s));
    double loss = 0;
    for (const CommitLine& line : world.commits().back().members) loss += line.loss_sum;
    double first = 0;
    for (const CommitLine& line : world.commits().front().members) first += line.loss_sum;
    REQUIRE(loss < 0.4 * first);
}

TEST_CASE("a trainer that crashes at any moment costs nobody else anything", "[averaging][sim]") {
    for (const auto seed : seeds(60)) {
        INFO("replay: DEDLOC_SEED=" << seed);
        Random random{seed};
        World world{seed, rules(12)};
        world.add_backbone();
        for (int i = 0; i < 3; ++i) world.add_trainer();
        const auto delay = std::chrono::milliseconds{random.below(8'000)};
        world.run_until([] { return false; }, delay);
        world.crash(2);
        world.run_until([] { return false; }, std::chrono::milliseconds{random.below(4'000)});
        world.restart(2);
        REQUIRE(world.run_until(
            [&] { return world.is_finished(0) && world.is_finished(1) && world.is_finished(2); },
            120s));
        require_clean_history(world, 12);
        REQUIRE(world.state(1).digest() == world.state(0).digest());
    }
}

TEST_CASE("a trainer that hangs is dropped and the round goes on without it", "[averaging][sim]") {
    for (const auto seed : seeds(40)) {
        INFO("replay: DEDLOC_SEED=" << seed);
        Random random{seed};
        World world{seed, rules(12)};
        world.add_backbone();
        for (int i = 0; i < 3; ++i) world.add_trainer();
        world.run_until([] { return false; }, std::chrono::milliseconds{random.below(8'000)});
        world.hang(3);
        REQUIRE(
            world.run_until([&] { return world.is_finished(0) && world.is_finished(1); }, 120s));
        require_clean_history(world, 12);
    }
}

TEST_CASE("a newcomer loads the state and joins the rounds", "[state][sim]") {
    for (const auto seed : seeds(40)) {
        INFO("replay: DEDLOC_SEED=" << seed);
        Random random{seed};
        World world{seed, rules(20)};
        world.add_backbone();
        for (int i = 0; i < 2; ++i) world.add_trainer();
        world.run_until([] { return false; }, std::chrono::milliseconds{random.below(9'000)});
        const auto late = world.add_trainer(200ms, seed % 2 == 0);
        REQUIRE(
            world.run_until([&] { return world.is_finished(0) && world.is_finished(late); }, 120s));
        require_clean_history(world, 20);
        const auto& last = world.commits().back().members;
        REQUIRE(std::any_of(last.begin(), last.end(), [&](const CommitLine& line) {
            return line.peer == world.key(late) && line.samples > Samples{0};
        }));
    }
}

TEST_CASE("a suspended trainer sends nothing and comes back", "[boinc][sim]") {
    for (const auto seed : seeds(40)) {
        INFO("replay: DEDLOC_SEED=" << seed);
        Random random{seed};
        World world{seed, rules(20)};
        world.add_backbone();
        for (int i = 0; i < 3; ++i) world.add_trainer();
        world.run_until([] { return false; }, std::chrono::milliseconds{random.below(6'000)});
        world.suspend(1);
        const auto sent = world.frames_sent(1);
        world.run_until([] { return false; }, std::chrono::milliseconds{random.below(5'000)});
        REQUIRE(world.frames_sent(1) == sent);
        REQUIRE_FALSE(world.trainer(1).is_computing());
        world.resume(1);
        REQUIRE(
            world.run_until([&] { return world.is_finished(0) && world.is_finished(1); }, 120s));
        require_clean_history(world, 20);
    }
}

TEST_CASE("a gradient that is not finite is left out", "[averaging][sim]") {
    World world{1, rules(5)};
    world.add_backbone();
    for (int i = 0; i < 3; ++i) world.add_trainer();
    world.trainer(1).poison();
    REQUIRE(world.run_until([&] { return world.is_finished(0); }, 60s));
    const auto& first = world.commits().front().members;
    REQUIRE(std::none_of(first.begin(), first.end(), [&](const CommitLine& line) {
        return line.peer == world.key(1) && line.samples > Samples{0};
    }));
    require_clean_history(world, 5);
}

TEST_CASE("corrupted frames close a link and no more", "[wire][sim]") {
    for (const auto seed : seeds(20)) {
        INFO("replay: DEDLOC_SEED=" << seed);
        World world{seed, rules(8)};
        world.add_backbone();
        for (int i = 0; i < 3; ++i) world.add_trainer();
        world.corrupt(0.002);
        world.run_until([] { return false; }, 10s);
        world.corrupt(0);
        REQUIRE(world.run_until([&] { return world.is_finished(0); }, 300s));
        require_clean_history(world, 8);
    }
}
