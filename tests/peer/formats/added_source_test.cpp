// The file of a source that is added in mid-run, and what a run becomes with it.
#include "peer/formats/added_source.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "peer/base/error.hpp"
#include "peer/formats/job_shards.hpp"

namespace dedloc::formats {
namespace {

ShardReference shard_named(const std::string& name, bool is_held_out = false) {
    return {
        .name = name, .digest = blake2b(bytes_of(name)), .bytes = 5, .is_held_out = is_held_out};
}

AddedSource second_language() {
    return {.name = "hindi",
            .licence = "CC BY-SA 4.0",
            .shards = {shard_named("h0"), shard_named("h1"), shard_named("h2", true)}};
}

RunFile two_sources() {
    RunFile run;
    run.name = "mixed";
    run.sources = {{"wiki", 1, ""}, {"web", 3, ""}};
    for (std::uint32_t i = 0; i < 4; ++i) {
        run.shards.push_back(shard_named("s" + std::to_string(i)));
        run.shards.back().source = i % 2;
    }
    return run;
}

std::string source_fault(const std::string& json) {
    try {
        parse_added_source(json);
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

std::string source_misfit(const AddedSource& source, RunFile run = two_sources()) {
    try {
        add_source(run, source);
    } catch (const InputError& error) {
        return error.what();
    }
    return "added";
}

TEST_CASE("the file of an added source reads back equal, and has one form", "[wire]") {
    const AddedSource source = second_language();
    const std::string json = write_added_source(source);
    CHECK(parse_added_source(json) == source);
    CHECK(digest_of(source) == blake2b(bytes_of(json)));
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string other = json;
        const auto at = other.find(from);
        REQUIRE(at != std::string::npos);
        return source_fault(other.replace(at, from.size(), to));
    };
    CHECK_THAT(with("{\"version\"", "{ \"version\""), Catch::Contains("is not as this program"));
    CHECK_THAT(with("\"version\":1", "\"version\":2"), Catch::Contains("another version"));
    CHECK_THAT(with("hindi", "hi/di"), Catch::Contains("'name'"));
    CHECK_THAT(with("hindi", std::string(kMaxSourceName + 1, 'x')), Catch::Contains("'name'"));
    CHECK_THAT(with("CC BY-SA 4.0", ""), Catch::Contains("'licence'"));
    CHECK_THAT(with("CC BY-SA 4.0", std::string(kMaxLicenceBytes + 1, 'x')),
               Catch::Contains("'licence'"));
    CHECK_THAT(with("\"h1\"", "\"h0\""), Catch::Contains("contains 'h0' twice"));
    CHECK_THAT(with("\"bytes\":5", "\"bytes\":0"), Catch::Contains("bytes"));
    CHECK_THAT(with("\"licence\"", "\"license\""), Catch::Contains("license"));
    CHECK(source_fault("{") != "accepted");
    CHECK_THAT(source_fault(std::string(kMaxAddedSourceBytes + 1, ' ')),
               Catch::Contains("more than the limit"));
    AddedSource untrained = source;
    for (auto& shard : untrained.shards) shard.is_held_out = true;
    CHECK_THROWS_WITH(write_added_source(untrained), Catch::Contains("must have one to train on"));
    untrained.shards.clear();
    CHECK_THROWS_AS(write_added_source(untrained), InputError);
    AddedSource of_two = source;
    of_two.shards[1].source = 1;
    CHECK_THROWS_AS(write_added_source(of_two), InputError);
}

TEST_CASE("a run with an added source keeps its id", "[wire]") {
    RunFile run = two_sources();
    const RunId id = run_id(run);
    add_source(run, second_language());
    CHECK(run_id(run) == id);
    REQUIRE(run.sources.size() == 3);
    CHECK(run.sources[2] == SourceSpec{"hindi", 0, "CC BY-SA 4.0"});
    CHECK(run.added_sources == 1);
    CHECK(run.added_shards == 3);
    CHECK(std::ranges::count(run.shards, 2, &ShardReference::source) == 3);
    CHECK(held_out_shards(run).size() == 1);
}

TEST_CASE("a source that does not fit the run is refused in one sentence", "[wire]") {
    CHECK(source_misfit(second_language()) == "added");
    AddedSource source = second_language();
    source.name = "web";
    CHECK_THAT(source_misfit(source), Catch::Contains("it has a source of this name"));
    source = second_language();
    source.shards[0] = shard_named("s2");
    CHECK_THAT(source_misfit(source), Catch::Contains("the run has its shard s2 already"));
    // The same bytes under another name.
    source.shards[0].name = "other";
    CHECK_THAT(source_misfit(source), Catch::Contains("the run has its shard other already"));
    RunFile plain = two_sources();
    plain.sources.clear();
    CHECK_THAT(source_misfit(second_language(), plain), Catch::Contains("began without sources"));
    RunFile full = two_sources();
    while (full.sources.size() < kMaxSources) {
        full.sources.push_back({"x" + std::to_string(full.sources.size()), 1, ""});
    }
    CHECK_THAT(source_misfit(second_language(), full), Catch::Contains("at most 16 sources"));
    RunFile many = two_sources();
    many.shards.resize(kMaxShards - 2);
    CHECK_THAT(source_misfit(second_language(), many), Catch::Contains("at most 4096 shards"));
    RunFile twice = two_sources();
    add_source(twice, second_language());
    CHECK_THAT(source_misfit(second_language(), twice), Catch::Contains("of this name"));
}

TEST_CASE("jobs have shards of an added source, in turns, and equally many each", "[wire]") {
    RunFile run = two_sources();
    run.shards_per_job = 2;
    CHECK(shards_of_job(run, 5).size() == 2);
    add_source(run, second_language());
    std::set<std::string> seen;
    for (std::uint64_t job = 0; job < 8; ++job) {
        const auto shards = shards_of_job(run, job);
        CHECK(shards.size() == shards_of_job(run, 0).size());
        for (std::uint32_t source = 0; source < 3; ++source) {
            CHECK(std::ranges::count(shards, source, &ShardReference::source) >= 1);
        }
        for (const auto& shard : shards) seen.insert(shard.name);
    }
    CHECK(seen == std::set<std::string>{"s0", "s1", "s2", "s3", "h0", "h1"});
}

}  // namespace
}  // namespace dedloc::formats
