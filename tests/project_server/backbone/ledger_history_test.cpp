#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

#include "peer/wire/limits.hpp"
#include "project_server/backbone/ledger_history.hpp"
#include "tests/peer/ledger/history.hpp"
#include "tests/temporary_directory.hpp"

using namespace dedloc;
using namespace dedloc::backbone;

namespace {

struct HistoryWorld {
    TemporaryDirectory folder;
    std::filesystem::path path = folder.path() / "ledger";
    ledger::History history{5, {.members = 3, .churn = 0.3, .short_losses = false}};
    LedgerOwner owner{history.run, history.trust().backbone};
    LedgerHistory past{path, owner};
    LedgerWriter writer{path, owner,
                        [this](const LedgerRecord& record, const LedgerReader::Place& after) {
                            past.take(record, after);
                        }};

    Decision decide() {
        const Decision decision = history.decide();
        writer.append({.committed_at = {}, .took = {}, .decision = decision});
        return decision;
    }
    SignedGeneration begin(std::uint64_t step) {
        const SignedGeneration generation = history.begin_generation(StepIndex{step});
        writer.append(generation);
        return generation;
    }
    /// All entries from that place on, queried as another voter does: each query begins where the
    /// last answer ended.
    std::vector<ledger::Entry> fetch(std::uint64_t generation, std::uint64_t step,
                                     std::size_t at_once) {
        std::vector<ledger::Entry> all;
        StepIndex at{step};
        for (;;) {
            const auto entries = past.read(generation, at, at_once);
            CHECK(entries.size() <= at_once);
            if (entries.empty()) return all;
            for (const ledger::Entry& entry : entries) {
                if (const auto* const decision = std::get_if<Decision>(&entry)) {
                    CHECK(decision->record.generation == generation);
                    CHECK(decision->record.step == at);
                    at = at.next();
                } else {
                    generation = std::get<SignedGeneration>(entry).record.generation;
                    at = std::get<SignedGeneration>(entry).record.step;
                }
                all.push_back(entry);
            }
        }
    }
};

}  // namespace

TEST_CASE("a voter that was away gets the entries of two generations, from any place", "[server]") {
    HistoryWorld world;
    std::vector<ledger::Entry> all;  // the valid ones
    for (int i = 0; i < 60; ++i) all.emplace_back(world.decide());
    world.writer.append(
        LedgerSettled{.step = StepIndex{3}, .reported = 1, .equal = 1, .digest = {}});
    all.resize(50);
    all.emplace_back(world.begin(50));
    for (int i = 0; i < 49; ++i) all.emplace_back(world.decide());
    REQUIRE(all.size() == 100);

    const auto from = [&](std::size_t first) {
        return std::vector<ledger::Entry>(all.begin() + static_cast<std::ptrdiff_t>(first),
                                          all.end());
    };
    for (const std::size_t at_once : {1U, 7U, 16U, 1000U}) {
        for (const std::uint64_t step : {0U, 1U, 17U, 49U}) {
            CHECK(world.fetch(0, step, at_once) == from(step));
        }
        // A voter that has decisions which are void now continues with the generation.
        for (const std::uint64_t step : {50U, 55U, 60U, 70U}) {
            CHECK(world.fetch(0, step, at_once) == from(50));
        }
        for (const std::uint64_t step : {50U, 51U, 80U, 98U}) {
            CHECK(world.fetch(1, step, at_once) == from(step + 1));
        }
    }
    CHECK(world.past.read(0, StepIndex{3}, 0).empty());
    // The ledger's end, and places that it does not have.
    CHECK(world.past.read(1, StepIndex{99}, 16).empty());
    CHECK(world.past.read(1, StepIndex{120}, 16).empty());
    CHECK(world.past.read(1, StepIndex{10}, 16).empty());
    CHECK(world.past.read(2, StepIndex{0}, 16).empty());
}

TEST_CASE("history after a generation that voids earlier ones has only valid entries", "[server]") {
    HistoryWorld world;
    std::vector<ledger::Entry> expected;
    for (int i = 0; i < 10; ++i) {
        const Decision decision = world.decide();
        if (i < 4) expected.emplace_back(decision);
    }
    expected.emplace_back(world.begin(8));
    for (int i = 0; i < 3; ++i) world.decide();
    expected.emplace_back(world.begin(4));
    expected.emplace_back(world.decide());
    CHECK(world.fetch(0, 0, 16) == expected);
}

TEST_CASE("history is read while the ledger grows", "[server]") {
    HistoryWorld world;
    world.decide();
    std::thread reader{[&] {
        std::size_t known = 0;
        while (known < 300) {
            const auto all = world.fetch(0, 0, wire::kMaxCommitsPerQuery);
            CHECK(all.size() >= known);
            known = all.size();
        }
    }};
    for (int i = 1; i < 300; ++i) world.decide();
    reader.join();
}

TEST_CASE("history of a long ledger is read without reading the ledger", "[server][timing]") {
    HistoryWorld world;
    constexpr int kSteps = 6'000;  // many times LedgerHistory::kMaxPlaces
    // Signatures are not checked here.
    ledger::History& history = world.history;
    for (int i = 0; i < kSteps; ++i) {
        const CommitRecord record = history.next();
        world.writer.append({.committed_at = {}, .took = {}, .decision = {record, {}}});
    }
    // A restart finds the places again.
    LedgerHistory reopened{world.path, world.owner};
    const LedgerWriter writer{world.path, world.owner,
                              [&](const LedgerRecord& record, const LedgerReader::Place& after) {
                                  reopened.take(record, after);
                              }};
    Random random{3};
    const auto started = std::chrono::steady_clock::now();
    constexpr int kQuestions = 100;
    for (int i = 0; i < kQuestions; ++i) {
        const StepIndex step{random.below(kSteps)};
        const auto entries = reopened.read(0, step, wire::kMaxCommitsPerQuery);
        REQUIRE_FALSE(entries.empty());
        CHECK(std::get<Decision>(entries.front()).record.step == step);
    }
    const std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - started;
    std::printf("history from a random place: %.2f ms\n", took.count() / kQuestions);
    CHECK(took.count() / kQuestions < 20);
}
