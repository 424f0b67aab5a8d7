// What the samples of a run cost at least: documents that are shorter than a sample make it cheap.
#include "project_server/corpus/sample_cost.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/formats/albert_layout.hpp"
#include "peer/platform/files.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::corpus {
namespace {

/// A run with samples of at most 64 tokens.
formats::RunFile small_run() {
    formats::RunFile run;
    run.model = formats::AlbertSpec{.vocabulary = 100,
                                    .embedding = 8,
                                    .hidden = 16,
                                    .layers = 2,
                                    .heads = 2,
                                    .ffn = 64,
                                    .positions = 64};
    run.sequence_length = 64;
    return run;
}

/// Documents, each with the number of tokens of its sentences.
formats::Shard shard_of(const std::vector<std::vector<std::size_t>>& documents) {
    formats::ShardBuilder builder{100};
    for (const auto& sentences : documents) {
        for (const std::size_t tokens : sentences) {
            builder.add_sentence(std::vector<std::uint16_t>(tokens, 7));
        }
        builder.end_document();
    }
    return std::move(builder).finish();
}

/// The cost of a sample with so many tokens of text.
double cost(std::uint64_t tokens) {
    return formats::albert_min_flops(formats::albert_of(small_run()),
                                     std::min<std::uint64_t>(tokens + 3, 64));
}

}  // namespace

TEST_CASE("a sample costs what is left of its document, at most a full one", "[server]") {
    const auto run = small_run();
    CHECK(mean_sample_flops(shard_of({{5, 7}}), run) == Approx(cost(12)));
    CHECK(mean_sample_flops(shard_of({{5, 7, 9}}), run) == Approx((cost(21) + cost(16)) / 2));
    CHECK(mean_sample_flops(shard_of({{5, 7}, {30}, {60, 2, 2}}), run) ==
          Approx((cost(12) + cost(61) + cost(4)) / 3));
    CHECK(mean_sample_flops(shard_of({{30}, {40}}), run) == 0);
    CHECK(cost(61) == cost(1'000));
    CHECK(cost(61) < formats::albert_flops_per_sample(formats::albert_of(run), 64));
}

TEST_CASE("a run's least cost is that of the shard with the shortest samples", "[server]") {
    const TemporaryDirectory folder;
    auto run = small_run();
    const auto add = [&](const std::string& name, const formats::Shard& shard, bool is_held_out) {
        platform::replace_file(folder.path() / name, shard.file);
        run.shards.push_back({.name = name,
                              .digest = blake2b(shard.file),
                              .bytes = shard.file.size(),
                              .is_held_out = is_held_out});
    };
    CHECK(min_sample_flops(folder.path(), run) == 0);
    add("single", shard_of({{9}, {9}}), false);
    CHECK(min_sample_flops(folder.path(), run) == 0);
    add("long", shard_of({{100, 100}}), false);
    CHECK(min_sample_flops(folder.path(), run) == Approx(cost(61)));
    add("short", shard_of({{5, 5}}), false);
    add("held_out", shard_of({{1, 1}}), true);
    CHECK(min_sample_flops(folder.path(), run) == Approx(cost(10)));
    platform::replace_file(folder.path() / "long", std::string{"no shard"});
    CHECK_THROWS_WITH(min_sample_flops(folder.path(), run),
                      Catch::Contains("long cannot be used: "));
}

}  // namespace dedloc::corpus
