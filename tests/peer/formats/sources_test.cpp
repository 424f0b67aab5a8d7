// Sources in the run file, and the shards of each that a job gets.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>

#include "peer/base/error.hpp"
#include "peer/formats/albert_layout.hpp"
#include "peer/formats/job_shards.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::formats {
namespace {

RunFile run_with_sources() {
    RunFile run;
    run.name = "mixed";
    run.model = AlbertSpec{.vocabulary = 100,
                           .embedding = 8,
                           .hidden = 8,
                           .layers = 1,
                           .heads = 1,
                           .ffn = 8,
                           .positions = 16};
    run.sequence_length = 16;
    run.target_batch = 8;
    run.steps = 10;
    run.flops_per_sample = 1;
    run.project_key.bytes.fill(std::byte{1});
    run.backbone_key.bytes.fill(std::byte{2});
    run.tensors = albert_tensors(albert_of(run));
    run.sources = {{"wiki", 230'000, "CC BY-SA 4.0"}, {"web", 770'000, ""}, {"new", 0, ""}};
    for (std::uint32_t i = 0; i < 14; ++i) {
        const std::uint32_t source = i < 2 ? 0 : (i < 12 ? 1 : 2);
        run.shards.push_back({.name = "s" + std::to_string(i),
                              .digest = {},
                              .bytes = 1,
                              .source = source,
                              .is_held_out = i == 11});
    }
    return run;
}

std::string refusal_of(std::string json, const std::string& from, const std::string& to) {
    const std::size_t at = json.find(from);
    REQUIRE(at != std::string::npos);
    json.replace(at, from.size(), to);
    try {
        parse_run_file(json);
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

TEST_CASE("a run file with sources reads back equal, and none is written without them", "[wire]") {
    const RunFile run = run_with_sources();
    const std::string json = write_run_file(run);
    CHECK(parse_run_file(json) == run);
    RunFile plain = run;
    plain.sources.clear();
    for (auto& shard : plain.shards) shard.source = 0;
    const std::string without = write_run_file(plain);
    CHECK(without.find("source") == std::string::npos);
    CHECK_FALSE(run_id(plain) == run_id(run));
}

TEST_CASE("sources that cannot be used are refused by name", "[wire]") {
    const std::string json = write_run_file(run_with_sources());
    const auto refused = [&](const std::string& from, const std::string& to) {
        return refusal_of(json, from, to);
    };
    CHECK(refused("\"name\":\"web\"", "\"name\":\"wiki\"") ==
          "run file: field 'sources[1].name' is another source's, too");
    CHECK_THAT(refused("\"name\":\"web\"", "\"name\":\"w/b\""),
               Catch::Contains("'sources[1].name'"));
    CHECK_THAT(refused("\"weight\":770000", "\"weight\":1000001"),
               Catch::Contains("'sources[1].weight'"));
    CHECK_THAT(refused("\"weight\":770000", "\"weight\":-1"),
               Catch::Contains("'sources[1].weight'"));
    CHECK_THAT(refused("\"source\":2", "\"source\":3"), Catch::Contains(".source'"));
    CHECK_THAT(refused("\"licence\":\"CC BY-SA 4.0\"", "\"licence\":\"\""),
               Catch::Contains("'sources[0].licence'"));
    CHECK_THAT(refused("\"licence\"", "\"license\""), Catch::Contains("license"));
    RunFile none = run_with_sources();
    for (auto& source : none.sources) source.weight = 0;
    CHECK_THROWS_WITH(write_run_file(none), Catch::Contains("must have a weight above 0"));
    RunFile many = run_with_sources();
    for (std::size_t i = many.sources.size(); i <= kMaxSources; ++i) {
        many.sources.push_back({"x" + std::to_string(i), 1, ""});
    }
    CHECK_THROWS_WITH(write_run_file(many), Catch::Contains("'sources'"));
    // A shard names a source only where there are some.
    RunFile stray = run_with_sources();
    stray.sources.clear();
    CHECK_THROWS_AS(write_run_file(stray), InputError);
}

TEST_CASE("every job has shards of every source, in turns", "[wire]") {
    RunFile run = run_with_sources();
    CHECK(shards_of_job(run, 3).size() == 13);
    for (run.shards_per_job = 1; run.shards_per_job <= 13; ++run.shards_per_job) {
        std::map<std::string, std::uint64_t> uses;
        for (std::uint64_t job = 0; job < 9 * 2; ++job) {
            std::map<std::uint32_t, std::size_t> of_source;
            std::set<std::string> names;
            for (const auto& shard : shards_of_job(run, job)) {
                CHECK_FALSE(shard.is_held_out);
                names.insert(shard.name);
                ++of_source[shard.source];
                ++uses[shard.name];
            }
            CHECK(of_source.size() == 3);
            CHECK(names.size() == of_source[0] + of_source[1] + of_source[2]);
            CHECK(names.size() <= run.shards_per_job + 2);
        }
        CHECK(uses.size() == 13);
        // The shards of a source are used alike.
        for (const auto& [name, count] : uses) {
            const auto source = std::ranges::find(run.shards, name, &ShardReference::name)->source;
            for (const auto& other : run.shards) {
                if (other.source == source && !other.is_held_out) CHECK(uses[other.name] == count);
            }
        }
    }
}

TEST_CASE("weights in whole numbers keep their proportions", "[wire]") {
    const std::vector<double> shares{0.23, 0.77};
    CHECK(whole_weights(shares) == std::vector<std::uint64_t>{230'000, 770'000});
    const std::vector<double> small{1e-12, 1, 0};
    CHECK(whole_weights(small) == std::vector<std::uint64_t>{1, 1'000'000, 0});
    const std::vector<double> large{1e300, 3e300};
    CHECK(whole_weights(large) == std::vector<std::uint64_t>{250'000, 750'000});
}

}  // namespace
}  // namespace dedloc::formats
