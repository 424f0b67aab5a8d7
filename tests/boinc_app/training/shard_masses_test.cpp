// Samples come from sources as their weights say, and follow from the random numbers alone.
#include "boinc_app/training/shard_masses.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <vector>

namespace dedloc::training {
namespace {

using formats::SourceSpec;

constexpr std::uint64_t kDraws = 40'000;

/// Shards of three sources: the second has many more things than the first, the third few.
ShardMasses three_sources(const std::vector<SourceSpec>& sources) {
    ShardMasses masses{sources};
    masses.add(1, 10, 0);
    masses.add(1, 4'000, 1);
    masses.add(1, 1'000, 1);
    masses.add(1, 3, 2);
    return masses;
}
const std::vector<std::size_t> kSourceOfShard{0, 1, 1, 2};

std::map<std::size_t, double> shares_of(const ShardMasses& masses,
                                        const std::vector<std::uint64_t>& weights = {}) {
    std::map<std::size_t, double> shares;
    for (std::uint64_t i = 0; i < kDraws; ++i) {
        Random random = Random{5}.split(i);
        const ShardPlace place = masses.draw(random, weights);
        shares[kSourceOfShard[place.shard]] += 1.0 / static_cast<double>(kDraws);
    }
    return shares;
}

/// Five standard deviations of a share that is drawn.
double error_of(double share) {
    return 5 * std::sqrt(share * (1 - share) / static_cast<double>(kDraws));
}

TEST_CASE("samples come from sources in proportion to the weights, not to the sizes",
          "[training]") {
    const std::vector<SourceSpec> sources{
        {"wiki", 230'000, ""}, {"web", 770'000, ""}, {"no", 0, ""}};
    const ShardMasses masses = three_sources(sources);
    auto shares = shares_of(masses);
    CHECK(std::abs(shares[0] - 0.23) < error_of(0.23));
    CHECK(std::abs(shares[1] - 0.77) < error_of(0.77));
    CHECK(shares[2] == 0);
    shares = shares_of(masses, {1, 1, 2});
    CHECK(std::abs(shares[0] - 0.25) < error_of(0.25));
    CHECK(std::abs(shares[1] - 0.25) < error_of(0.25));
    CHECK(std::abs(shares[2] - 0.5) < error_of(0.5));
}

TEST_CASE("with fewer weights it is drawn as a job without the later sources draws", "[training]") {
    const std::vector<SourceSpec> sources{{"wiki", 1, ""}, {"web", 3, ""}, {"no", 0, ""}};
    const ShardMasses all = three_sources(sources);
    ShardMasses two{sources};
    two.add(1, 10, 0);
    two.add(1, 4'000, 1);
    two.add(1, 1'000, 1);
    for (std::uint64_t i = 0; i < 2'000; ++i) {
        for (const auto& weights : {std::vector<std::uint64_t>{1, 2, 5}, {0, 0, 1}}) {
            Random one = Random{9}.split(i);
            Random other = one;
            const ShardPlace there = two.draw(one, weights);
            const ShardPlace again = all.draw(other, std::span{weights}.first(2));
            REQUIRE(there.shard == again.shard);
            REQUIRE(there.index == again.index);
        }
    }
}

TEST_CASE("within a source every thing is as likely as its shard's weight says", "[training]") {
    const std::vector<SourceSpec> sources{{"only", 1, ""}};
    ShardMasses masses{sources};
    masses.add(3, 2, 0);
    masses.add(1, 0, 0);
    masses.add(1, 4, 0);
    std::map<std::pair<std::size_t, std::uint64_t>, double> shares;
    for (std::uint64_t i = 0; i < kDraws; ++i) {
        Random random = Random{7}.split(i);
        const ShardPlace place = masses.draw(random);
        shares[{place.shard, place.index}] += 1.0 / static_cast<double>(kDraws);
    }
    REQUIRE(shares.size() == 6);
    for (const auto& [place, share] : shares) {
        const double expected = place.first == 0 ? 0.3 : 0.1;
        CHECK(std::abs(share - expected) < error_of(expected));
    }
}

TEST_CASE("a job without shards of a source draws from the others in proportion", "[training]") {
    const std::vector<SourceSpec> sources{{"a", 1, ""}, {"b", 3, ""}, {"c", 6, ""}};
    ShardMasses masses{sources};
    masses.add(1, 100, 0);
    masses.add(1, 5, 1);
    masses.add(1, 0, 2);  // it has nothing to draw
    std::map<std::size_t, double> shares;
    const auto draw_all = [&](const std::vector<std::uint64_t>& weights) {
        shares.clear();
        for (std::uint64_t i = 0; i < kDraws; ++i) {
            Random random = Random{9}.split(i);
            shares[masses.draw(random, weights).shard] += 1.0 / static_cast<double>(kDraws);
        }
    };
    draw_all({});
    CHECK(std::abs(shares[0] - 0.25) < error_of(0.25));
    CHECK(std::abs(shares[1] - 0.75) < error_of(0.75));
    // Nothing that has a weight is here: all that is here has the same.
    draw_all({0, 0, 1});
    CHECK(std::abs(shares[0] - 0.5) < error_of(0.5));
    CHECK(std::abs(shares[1] - 0.5) < error_of(0.5));
}

TEST_CASE("a run without sources draws as before there were any", "[training]") {
    ShardMasses masses;
    masses.add(3, 7, 0);
    masses.add(1, 5, 0);
    for (std::uint64_t i = 0; i < 1'000; ++i) {
        Random random = Random{11}.split(i);
        const ShardPlace place = masses.draw(random);
        // One number below the sum of weight × things, and none beyond it.
        Random again = Random{11}.split(i);
        const std::uint64_t number = again.below(26);
        CHECK(place.shard == (number < 21 ? 0 : 1));
        CHECK(place.index == (number < 21 ? number / 3 : number - 21));
        CHECK(random.next() == again.next());
    }
}

}  // namespace
}  // namespace dedloc::training
