// A micro-batch follows from public numbers, and every sample is well formed.
#include "boinc_app/albert/batch.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "boinc_app/training/task.hpp"
#include "peer/base/error.hpp"
#include "tests/boinc_app/tiny_world.hpp"

namespace dedloc::training::albert {
namespace {

using test::skewed_shard;
using test::tiny_run;

PeerKey peer(unsigned char name) {
    PeerKey key;
    key.bytes.fill(std::byte{name});
    return key;
}

constexpr std::size_t kMicroBatch = 4;

TEST_CASE("equal public numbers draw equal micro-batches, and different numbers different ones",
          "[training]") {
    const formats::RunFile run = tiny_run();
    const std::vector<formats::Shard> shards{skewed_shard(run, 1)};
    const Sampler sampler{run, shards};
    const auto draw = [&](std::uint64_t seed, unsigned char who, std::uint64_t step,
                          std::uint64_t first) {
        return sampler.draw(step_random(seed, peer(who), StepIndex{step}), first, kMicroBatch);
    };
    const MicroBatch batch = draw(42, 1, 7, 3);
    CHECK(batch == draw(42, 1, 7, 3));
    CHECK_FALSE(batch == draw(43, 1, 7, 3));
    CHECK_FALSE(batch == draw(42, 2, 7, 3));
    CHECK_FALSE(batch == draw(42, 1, 8, 3));
    CHECK_FALSE(batch == draw(42, 1, 7, 4));
}

/// The tokens, labels and flags of one row, without its padding.
struct Row {
    std::vector<std::int64_t> tokens, types, masked_at, masked_tokens;
    std::vector<float> masked_weights;
    std::int64_t is_swapped = 0;
    bool operator==(const Row&) const = default;
};

std::vector<Row> rows_of(const MicroBatch& batch) {
    std::vector<Row> rows(batch.samples);
    for (std::size_t row = 0; row < batch.samples; ++row) {
        const auto begin = static_cast<std::ptrdiff_t>(row * batch.length);
        const auto end = begin + batch.row_lengths[row];
        rows[row].tokens.assign(batch.tokens.begin() + begin, batch.tokens.begin() + end);
        rows[row].types.assign(batch.types.begin() + begin, batch.types.begin() + end);
        rows[row].is_swapped = batch.is_swapped[row];
    }
    const auto length = static_cast<std::int64_t>(batch.length);
    for (std::size_t i = 0; i < batch.masked_at.size(); ++i) {
        Row& row = rows[static_cast<std::size_t>(batch.masked_at[i] / length)];
        row.masked_at.push_back(batch.masked_at[i] % length);
        row.masked_tokens.push_back(batch.masked_tokens[i]);
        row.masked_weights.push_back(batch.masked_weights[i]);
    }
    return rows;
}

TEST_CASE("a sample follows from its index, not from the micro-batch that it is drawn in",
          "[training]") {
    const formats::RunFile run = tiny_run();
    const std::vector<formats::Shard> shards{skewed_shard(run, 1)};
    const Sampler sampler{run, shards};
    const Random step = step_random(42, peer(1), StepIndex{7});
    constexpr std::size_t kSamples = 48;
    const std::vector<Row> all = rows_of(sampler.draw(step, 0, kSamples));
    for (const std::size_t micro_batch : {1u, 3u, 8u}) {
        std::vector<Row> rows;
        for (std::size_t first = 0; first < kSamples; first += micro_batch) {
            for (Row& row : rows_of(sampler.draw(step, first, micro_batch))) {
                rows.push_back(std::move(row));
            }
        }
        CAPTURE(micro_batch);
        CHECK((rows == all));
    }
}

TEST_CASE("every sample is two parts between class token and separators, then padding",
          "[training][property]") {
    formats::RunFile run = tiny_run();
    const std::vector<formats::Shard> shards{skewed_shard(run, 1), skewed_shard(run, 2)};
    run.sequence_length = GENERATE(std::uint64_t{8}, std::uint64_t{13}, std::uint64_t{32});
    const Sampler sampler{run, shards};
    for (std::uint64_t index = 0; index < 200; ++index) {
        const MicroBatch batch =
            sampler.draw(step_random(1, peer(1), StepIndex{0}), index * kMicroBatch, kMicroBatch);
        REQUIRE(batch.samples == kMicroBatch);
        REQUIRE(batch.length <= run.sequence_length);
        REQUIRE(batch.tokens.size() == batch.samples * batch.length);
        std::vector<std::int64_t> tokens = batch.tokens;
        for (std::size_t i = 0; i < batch.masked_at.size(); ++i) {
            tokens[static_cast<std::size_t>(batch.masked_at[i])] = batch.masked_tokens[i];
        }
        for (std::size_t row = 0; row < batch.samples; ++row) {
            const auto length = static_cast<std::size_t>(batch.row_lengths[row]);
            const auto* first = &tokens[row * batch.length];
            const auto* types = &batch.types[row * batch.length];
            CHECK(first[0] == run.special_tokens.cls);
            CHECK(first[length - 1] == run.special_tokens.sep);
            CHECK(std::count(first, first + length, run.special_tokens.sep) == 2);
            const auto types_sum = std::accumulate(types, types + length, std::int64_t{0});
            CHECK(types_sum >= 2);
            CHECK(first[length - 1 - static_cast<std::size_t>(types_sum)] ==
                  run.special_tokens.sep);
            for (std::size_t at = length; at < batch.length; ++at) {
                CHECK(first[at] == run.special_tokens.pad);
            }
        }
    }
}

TEST_CASE("each sample masks at least one token and its weights add up to one",
          "[training][property]") {
    const formats::RunFile run = tiny_run();
    const std::vector<formats::Shard> shards{skewed_shard(run, 1)};
    const Sampler sampler{run, shards};
    std::uint64_t masked = 0, tokens = 0, swapped = 0, samples = 0;
    for (std::uint64_t index = 0; index < 500; ++index) {
        const MicroBatch batch =
            sampler.draw(step_random(1, peer(1), StepIndex{0}), index * kMicroBatch, kMicroBatch);
        std::vector<double> weight(batch.samples);
        for (std::size_t i = 0; i < batch.masked_at.size(); ++i) {
            weight[static_cast<std::size_t>(batch.masked_at[i]) / batch.length] +=
                static_cast<double>(batch.masked_weights[i]);
        }
        for (const double sum : weight) CHECK(sum == Approx(1.0));
        CHECK(std::set(batch.masked_at.begin(), batch.masked_at.end()).size() ==
              batch.masked_at.size());
        masked += batch.masked_at.size();
        for (const auto length : batch.row_lengths)
            tokens += static_cast<std::uint64_t>(length - 3);
        for (const auto is_swapped : batch.is_swapped) swapped += is_swapped == 1 ? 1 : 0;
        samples += batch.samples;
    }
    CHECK(static_cast<double>(masked) / static_cast<double>(tokens) == Approx(0.15).margin(0.02));
    CHECK(static_cast<double>(swapped) / static_cast<double>(samples) == Approx(0.5).margin(0.05));
}

TEST_CASE("of the tokens to predict 80% are masked, 10% random and 10% as they were",
          "[training][property]") {
    const formats::RunFile run = tiny_run({.vocabulary = 10'000});
    const std::vector<formats::Shard> shards{skewed_shard(run, 1)};
    const Sampler sampler{run, shards};
    double masked = 0, kept = 0, random = 0;
    for (std::uint64_t index = 0; index < 2'000; ++index) {
        const MicroBatch batch =
            sampler.draw(step_random(1, peer(1), StepIndex{0}), index * kMicroBatch, kMicroBatch);
        for (std::size_t i = 0; i < batch.masked_at.size(); ++i) {
            const auto shown = batch.tokens[static_cast<std::size_t>(batch.masked_at[i])];
            const bool is_kept = shown == batch.masked_tokens[i];
            masked += shown == run.special_tokens.mask ? 1 : 0;
            kept += is_kept ? 1 : 0;
            random += shown != run.special_tokens.mask && !is_kept ? 1 : 0;
        }
    }
    const double all = masked + kept + random;
    // Five standard deviations of a share that is drawn so many times. The seed is fixed.
    const auto bound = [&](double share) { return 5 * std::sqrt(share * (1 - share) / all); };
    REQUIRE(all > 10'000);
    CHECK(masked / all == Approx(0.8).margin(bound(0.8)));
    CHECK(random / all == Approx(0.1).margin(bound(0.1)));
    CHECK(kept / all == Approx(0.1).margin(bound(0.1)));
}

TEST_CASE("starts are drawn in proportion to the weight of their shard", "[training][property]") {
    const formats::RunFile run = tiny_run();
    // Token ids tell the shards apart.
    const auto shard_of = [](std::uint16_t token, int documents, std::uint64_t weight) {
        formats::ShardBuilder builder{60};
        for (int document = 0; document < documents; ++document) {
            for (int sentence = 0; sentence < 3; ++sentence) {
                builder.add_sentence(std::vector<std::uint16_t>(8, token));
            }
            builder.end_document();
        }
        auto shard = std::move(builder).finish();
        shard.weight = weight;
        return shard;
    };
    // 40, 80 and 20 starts: shares 40 : 80 · 3 : 20 · 6.
    const std::vector<formats::Shard> shards{shard_of(10, 20, 1), shard_of(20, 40, 3),
                                             shard_of(30, 10, 6)};
    const Sampler sampler{run, shards};
    const Random random = step_random(1, peer(1), StepIndex{0});
    std::map<std::int64_t, double> draws;
    double all = 0;
    for (std::uint64_t index = 0; index < 2'000; ++index) {
        const MicroBatch batch = sampler.draw(random, 4 * index, 4);
        for (const auto token : batch.masked_tokens) {
            ++draws[token];
            ++all;
        }
    }
    CHECK(draws[10] / all == Approx(0.1).margin(0.01));
    CHECK(draws[20] / all == Approx(0.6).margin(0.02));
    CHECK(draws[30] / all == Approx(0.3).margin(0.02));
}

TEST_CASE("over many steps samples come from sources as the mixture of each step says",
          "[training][property]") {
    formats::RunFile run = tiny_run();
    run.sources = {{"encyclopaedia", 230'000, ""}, {"web", 770'000, ""}};
    // Token ids tell the sources apart; the first has ten times as much text.
    std::vector<formats::Shard> shards;
    for (std::uint32_t source = 0; source < 2; ++source) {
        formats::ShardBuilder builder{60};
        for (int document = 0; document < (source == 0 ? 200 : 20); ++document) {
            const auto token = static_cast<std::uint16_t>(source == 0 ? 10 : 20);
            for (int i = 0; i < 4; ++i) builder.add_sentence(std::vector<std::uint16_t>(8, token));
            builder.end_document();
        }
        shards.push_back(std::move(builder).finish());
        shards.back().source = source;
    }
    const Sampler sampler{run, shards};
    const std::vector<std::uint64_t> changed{2, 3};
    constexpr std::uint64_t kSteps = 120, kPerStep = 24, kChange = 50;
    std::map<bool, std::map<bool, double>> counts;  // by: after the change, of the first source
    for (std::uint64_t step = 0; step < kSteps; ++step) {
        const bool is_after = step >= kChange;
        for (const PeerKey& key : {peer(1), peer(2)}) {
            const Random random = step_random(run.seed, key, StepIndex{step});
            const MicroBatch batch =
                sampler.draw(random, 0, kPerStep,
                             is_after ? std::span{changed} : std::span<const std::uint64_t>{});
            for (std::size_t row = 0; row < kPerStep; ++row) {
                // A masked token may be any: the original ones tell the source.
                const auto at = std::ranges::find_if(batch.masked_at, [&](std::int64_t place) {
                    return static_cast<std::size_t>(place) / batch.length == row;
                });
                const auto token =
                    batch.masked_tokens[static_cast<std::size_t>(at - batch.masked_at.begin())];
                ++counts[is_after][token == 10];
                // The source is the first thing that a sample draws.
                Random again = random.split(row);
                const std::uint64_t drawn = again.below(is_after ? 5 : 1'000'000);
                CHECK((token == 10) == (drawn < (is_after ? 2U : 230'000U)));
            }
        }
    }
    for (const bool is_after : {false, true}) {
        const double all = counts[is_after][false] + counts[is_after][true];
        const double share = is_after ? 0.4 : 0.23;
        const double bound = 5 * std::sqrt(share * (1 - share) / all);
        CHECK(counts[is_after][true] / all == Approx(share).margin(bound));
    }
}

TEST_CASE("a shard with another vocabulary or without documents of two sentences is refused",
          "[training]") {
    const formats::RunFile run = tiny_run();
    formats::ShardBuilder other{61};
    other.add_sentence(std::vector<std::uint16_t>{5, 6});
    const std::vector<formats::Shard> foreign{std::move(other).finish()};
    CHECK_THROWS_AS(Sampler(run, foreign), InputError);
    formats::ShardBuilder lonely{60};
    lonely.add_sentence(std::vector<std::uint16_t>{5, 6});
    lonely.end_document();
    lonely.add_sentence(std::vector<std::uint16_t>{7});
    const std::vector<formats::Shard> lone{std::move(lonely).finish()};
    CHECK_THROWS_AS(Sampler(run, lone), InputError);
}

}  // namespace
}  // namespace dedloc::training::albert
