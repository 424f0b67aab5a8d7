// Samples of each source are counted from a ledger with a change of the mixture in it.
#include "project_server/runs/source_counts.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "peer/base/error.hpp"
#include "project_server/run_sources.hpp"
#include "project_server/runs/checkpoints.hpp"
#include "project_server/runs/find_run.hpp"
#include "tests/project_server/runs/stored_run.hpp"

namespace dedloc::runs {
namespace {

const formats::AlbertSpec kModel{.vocabulary = 100,
                                 .embedding = 8,
                                 .hidden = 16,
                                 .layers = 2,
                                 .heads = 2,
                                 .ffn = 32,
                                 .positions = 16};
const std::vector<formats::SourceSpec> kSources{
    {"wiki", 250'000, ""}, {"web", 750'000, ""}, {"later", 0, ""}};

std::vector<MixtureCount> counts_of(const StoredRun& stored) {
    const backbone::RunFiles files = find_run(stored.project(), "small");
    return count_sources(files, read_proof(files));
}

formats::RunFile run_of(const std::vector<formats::SourceSpec>& sources) {
    formats::RunFile run;
    run.seed = 42;
    run.sources = sources;
    run.shards.resize(sources.size());
    for (std::uint32_t i = 0; i < sources.size(); ++i) run.shards[i].source = i;
    return run;
}

/// A contribution of a job with so many of the added sources.
CommitLine line_of(std::uint64_t samples, std::uint8_t added = 0) {
    return {.peer = {}, .samples = Samples{samples}, .added = added};
}

formats::AddedSource hindi() {
    return {.name = "hindi",
            .licence = "CC0",
            .shards = {{.name = "h", .digest = blake2b(bytes_of("h")), .bytes = 7}}};
}

TEST_CASE("the samples of a contribution are counted by their sources", "[server]") {
    const formats::RunFile run = run_of(kSources);
    const auto count = [&](std::uint64_t step, std::uint64_t samples) {
        return sources_of_samples(run, {1, 1, 2}, line_of(samples), StepIndex{step});
    };
    const auto counts = count(3, 40'000);
    CHECK(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) == 40'000);
    CHECK(std::abs(static_cast<double>(counts[0]) - 10'000) < 5 * std::sqrt(7'500));
    CHECK(std::abs(static_cast<double>(counts[2]) - 20'000) < 5 * std::sqrt(10'000));
    CHECK(count(3, 40'000) == counts);
    CHECK(count(4, 40'000) != counts);
    // A source without shards has no samples, whatever its weight.
    formats::RunFile absent = run;
    absent.shards.back().is_held_out = true;
    CHECK(sources_of_samples(absent, {1, 1, 2}, line_of(1'000), StepIndex{3})[2] == 0);
}

TEST_CASE("a claim of very many samples takes bounded time", "[server]") {
    const formats::RunFile run = run_of(kSources);
    const std::uint64_t claimed = std::uint64_t{1} << 40;
    const auto counts = sources_of_samples(run, {1, 3, 0}, line_of(claimed), StepIndex{0});
    CHECK(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) == claimed);
    CHECK(static_cast<double>(counts[0]) / static_cast<double>(claimed) ==
          Approx(0.25).margin(0.002));
    CHECK(counts[2] == 0);
}

TEST_CASE("each mixture has its rounds and its samples", "[server]") {
    StoredRun stored{kModel, 3, {}, kSources};
    for (int step = 0; step < 30; ++step) stored.step();
    const MixtureChange change{.from = StepIndex{30}, .weights = {0, 1, 1}};
    for (int step = 0; step < 20; ++step) stored.step(stored.voter(), digest_of(change));
    CHECK_THROWS_WITH(counts_of(stored),
                      Catch::Contains("step 30 was drawn by a changed mixture") &&
                          Catch::Contains("mixture does not list"));
    server::write_mixture(
        stored.folder() / "mixture",
        sign_mixture(formats::run_id(stored.run()), 1, {change}, stored.project_key()));
    const auto counts = counts_of(stored);
    REQUIRE(counts.size() == 2);
    CHECK(counts[0].first == StepIndex{0});
    CHECK(counts[0].last == StepIndex{29});
    CHECK(counts[0].samples == 30 * 40);
    CHECK(counts[1].first == StepIndex{30});
    CHECK(counts[1].last == StepIndex{49});
    CHECK(counts[1].samples == 20 * 40);
    CHECK(counts[0].sources[2].samples == 0);
    CHECK(counts[1].sources[0].samples == 0);
    for (const MixtureCount& mixture : counts) {
        const auto samples = static_cast<double>(mixture.samples);
        std::uint64_t sum = 0;
        for (const SourceCount& source : mixture.sources) {
            sum += source.samples;
            CHECK(std::abs(static_cast<double>(source.samples) - source.share * samples) <=
                  6 * std::sqrt(samples * source.share * (1 - source.share)));
            REQUIRE(source.loss.has_value() == (source.share > 0));
            if (source.loss) CHECK(source.loss->loss == Approx(4.5));
        }
        CHECK(sum == mixture.samples);
    }
}

TEST_CASE("a job that is older than a source has none of its samples", "[server]") {
    formats::RunFile run = run_of(kSources);
    formats::add_source(run, hindi());
    const std::vector<std::uint64_t> weights{1, 1, 0, 2};
    const auto old = sources_of_samples(run, weights, line_of(40'000), StepIndex{3});
    CHECK(old[3] == 0);
    CHECK(std::abs(static_cast<double>(old[0]) - 20'000) < 5 * std::sqrt(10'000));
    const auto fresh = sources_of_samples(run, weights, line_of(40'000, 1), StepIndex{3});
    CHECK(std::abs(static_cast<double>(fresh[3]) - 20'000) < 5 * std::sqrt(10'000));
    CHECK(std::abs(static_cast<double>(fresh[0]) - 10'000) < 5 * std::sqrt(7'500));
    // A liar that claims more than there are gains nothing by it.
    CHECK(sources_of_samples(run, weights, line_of(40'000, 16), StepIndex{3}) == fresh);
    // If only the new source has a weight, an old job draws from its own sources uniformly.
    const auto alone = sources_of_samples(run, {0, 0, 0, 1}, line_of(30'000), StepIndex{3});
    CHECK(std::abs(static_cast<double>(alone[2]) - 10'000) < 5 * std::sqrt(6'667));
    CHECK(alone[3] == 0);
}

TEST_CASE("rounds of old and new jobs are counted by what each has", "[server]") {
    StoredRun stored{kModel, 3, {}, kSources};
    server::write_source(stored.folder(), hindi());
    const MixtureChange change{.from = StepIndex{20}, .weights = {1, 1, 0, 2}};
    server::write_mixture(server::mixture_file(stored.folder()),
                          sign_mixture(formats::run_id(stored.run()), 2, {change},
                                       stored.project_key(), {formats::digest_of(hindi())}));
    for (int step = 0; step < 20; ++step) stored.step(stored.voter(), {}, {0, 1});
    for (int step = 0; step < 30; ++step) stored.step(stored.voter(), digest_of(change), {0, 1});
    const auto counts = counts_of(stored);
    REQUIRE(counts.size() == 2);
    CHECK(counts[0].sources[3].share == 0);
    CHECK(counts[0].sources[3].samples == 0);
    CHECK(counts[0].samples_of_older == 20 * 20);
    CHECK(counts[1].samples_of_older == 30 * 20);
    CHECK(counts[1].sources[3].share == 0.5);
    CHECK(counts[1].sources[3].expected == Approx(300));
    CHECK(counts[1].sources[0].expected == Approx(300 + 150));
    for (const SourceCount& source : counts[1].sources) {
        CHECK(std::abs(static_cast<double>(source.samples) - source.expected) <=
              6 * std::sqrt(source.variance));
    }
    CHECK(counts[1].sources[3].variance == Approx(150));
    // A copy of the folder without the source's file still tells how many there were.
    std::filesystem::remove_all(stored.folder() / "added");
    const auto again = counts_of(stored);
    REQUIRE(again.size() == 2);
    CHECK(again[1].sources[3].samples == counts[1].sources[3].samples);
}

TEST_CASE("a run without sources has none to count", "[server]") {
    StoredRun stored;
    stored.step();
    CHECK_THROWS_WITH(counts_of(stored), Catch::Contains("the run small has no sources"));
}

}  // namespace
}  // namespace dedloc::runs
