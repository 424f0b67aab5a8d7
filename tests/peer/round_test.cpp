// The all-reduce and the shares, without a network.
#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/planning/shares.hpp"
#include "peer/round/reduction.hpp"

using namespace dedloc;
using namespace dedloc::round;

namespace {

struct Case {
    wire::Plan plan;
    std::vector<Contribution> contributions;
};

Case random_case(Random& random) {
    const std::uint64_t elements = 1 + random.below(300'000);
    const std::size_t members = 1 + random.below(6);
    Case c;
    std::vector<planning::Reducer> reducers(members);
    for (std::size_t k = 0; k < members; ++k) {
        PeerKey key;
        key.bytes.fill(static_cast<std::byte>(k + 1));
        const Samples samples{k == 0 ? 8 : random.below(3) * 8};
        reducers[k] = {.is_reachable = k == 0 || random.below(3) != 0,
                       .upload_bytes_per_second = 1e5 * static_cast<double>(1 + random.below(50))};
        c.plan.members.push_back({.peer = key, .endpoint = {}, .samples = samples});
        auto sum = std::make_shared<FloatVector>(elements);
        for (float& x : *sum) x = static_cast<float>(random.uniform() - 0.5) * 1e3f;
        if (samples == Samples{0}) sum = nullptr;
        c.contributions.push_back(
            {.samples = samples, .loss_sum = 0, .is_finite = true, .sum = sum});
    }
    c.plan.attempt = 1;
    c.plan.boundaries = planning::part_boundaries(elements, reducers);
    return c;
}

/// Every member's average when chunks arrive in an order chosen by `random`.
std::vector<FloatVector> exchange(const Case& c, Random& random, bool repeats_some) {
    std::vector<Reduction> members;
    struct Flight {
        PeerIndex from;
        Outgoing item;
    };
    std::vector<Flight> flying;
    const auto launch = [&](std::uint32_t from, std::vector<Outgoing> items) {
        for (auto& item : items) flying.push_back({PeerIndex{from}, std::move(item)});
    };
    for (std::uint32_t k = 0; k < c.plan.members.size(); ++k) {
        members.emplace_back(c.plan, PeerIndex{k}, c.contributions[k]);
    }
    for (std::uint32_t k = 0; k < members.size(); ++k) launch(k, members[k].start());
    while (!flying.empty()) {
        const std::size_t pick = random.below(flying.size());
        std::swap(flying[pick], flying.back());
        const Flight flight = flying.back();
        if (!repeats_some || random.below(4) != 0) flying.pop_back();
        const auto to = flight.item.to.value();
        launch(to, members[to].take(flight.from, flight.item.chunk));
    }
    std::vector<FloatVector> averages;
    for (const Reduction& member : members) {
        REQUIRE(member.is_complete());
        averages.push_back(*member.average());
    }
    return averages;
}

FloatVector reference(const Case& c) {
    FloatVector mean(c.plan.boundaries.back());
    std::uint64_t total = 0;
    for (const auto& m : c.plan.members) total += m.samples.value();
    for (std::size_t i = 0; i < mean.size(); ++i) {
        bool is_first = true;
        for (const Contribution& k : c.contributions) {
            if (!k.sum) continue;
            mean[i] = is_first ? (*k.sum)[i] : mean[i] + (*k.sum)[i];
            is_first = false;
        }
        mean[i] = mean[i] / static_cast<float>(total);
    }
    return mean;
}

}  // namespace

TEST_CASE("parts cover the vector once for any members", "[averaging][property]") {
    Random random{1};
    for (int i = 0; i < 2'000; ++i) {
        std::vector<planning::Reducer> members(1 + random.below(40));
        for (auto& m : members) {
            m = {.is_reachable = random.below(2) == 0,
                 .upload_bytes_per_second = random.below(8) == 0 ? 0.0 : random.uniform() * 1e10};
        }
        members[random.below(members.size())].is_reachable = true;
        const std::uint64_t elements = random.below(std::uint64_t{1} << (1 + random.below(34)));
        const auto cut = planning::part_boundaries(elements, members);
        REQUIRE(cut.size() == members.size() + 1);
        REQUIRE(cut.front() == 0);
        REQUIRE(cut.back() == elements);
        REQUIRE(std::is_sorted(cut.begin(), cut.end()));
        for (std::size_t k = 0; k < members.size(); ++k) {
            if (!members[k].is_reachable) REQUIRE(cut[k] == cut[k + 1]);
        }
    }
}

TEST_CASE("shares follow upload bandwidth, and are equal when one is unknown", "[averaging]") {
    using planning::Reducer;
    const std::vector<Reducer> known{{true, 100e6}, {true, 50e6}, {false, 900e6}, {true, 50e6}};
    REQUIRE(planning::part_boundaries(1'000, known) ==
            std::vector<std::uint64_t>{0, 500, 750, 750, 1'000});
    const std::vector<Reducer> partly{{true, 100e6}, {true, 0}, {false, 900e6}, {true, 50e6}};
    REQUIRE(planning::part_boundaries(900, partly) ==
            std::vector<std::uint64_t>{0, 300, 600, 600, 900});
}

TEST_CASE("an all-reduce sums in member order whatever arrives first", "[averaging][property]") {
    Random random{2};
    for (int i = 0; i < 60; ++i) {
        const Case c = random_case(random);
        const FloatVector expected = reference(c);
        for (const FloatVector& average : exchange(c, random, i % 2 == 0)) {
            REQUIRE(std::equal(average.begin(), average.end(), expected.begin()));
        }
    }
}

TEST_CASE("chunks that cannot be right are ignored and counted", "[averaging]") {
    Random random{3};
    Case c;
    do {
        c = random_case(random);
    } while (c.plan.members.size() < 3 || c.plan.members[1].samples != Samples{0} ||
             c.plan.boundaries[1] < 70'000 || c.plan.members[2].samples == Samples{0});
    Reduction member{c.plan, PeerIndex{0}, c.contributions[0]};
    (void)member.start();
    const wire::Chunk good{.attempt = 1,
                           .phase = wire::Phase::kScatter,
                           .part = PartIndex{0},
                           .offset = 0,
                           .elements = FloatVector(65'536)};
    const auto ignores = [&](std::uint32_t from, auto change) {
        wire::Chunk chunk = good;
        change(chunk);
        const auto before = member.ignored_chunks();
        const auto out = member.take(PeerIndex{from}, chunk);
        return out.empty() && member.ignored_chunks() == before + 1;
    };
    REQUIRE(ignores(2, [](auto& k) { k.attempt = 2; }));
    REQUIRE(ignores(2, [](auto& k) { k.part = PartIndex{1}; }));
    REQUIRE(ignores(2, [](auto& k) { k.offset = 1; }));
    REQUIRE(ignores(2, [](auto& k) { k.offset = std::uint64_t{1} << 60; }));
    REQUIRE(ignores(2, [](auto& k) { k.elements.resize(10); }));
    REQUIRE(ignores(0, [](auto&) {}));
    REQUIRE(ignores(1, [](auto&) {}));  // has no samples in the plan
    REQUIRE_FALSE(ignores(2, [](auto&) {}));
    REQUIRE(ignores(2, [](auto&) {}));  // the second time
}
