#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "peer/base/random.hpp"
#include "peer/round/relays.hpp"
#include "peer/wire/limits.hpp"

using namespace dedloc;
using namespace dedloc::round;

namespace {

constexpr std::uint64_t kBytesPerMbit = 125'000;

PeerKey member_key(std::size_t number) {
    PeerKey key;
    key.bytes[0] = static_cast<std::byte>(number >> 8);
    key.bytes[1] = static_cast<std::byte>(number & 255);
    return key;
}

/// Member 3 coordinates; every second member reduces, with these Mbit/s.
struct RelayedRound {
    RelayedRound(std::size_t members, std::uint64_t own_mbit, std::uint64_t reducers_mbit) {
        plan.term.coordinator = member_key(3);
        for (std::uint32_t k = 0; k < members; ++k) {
            plan.members.push_back({member_key(k), Samples{0}});
            const std::uint64_t mbit = k == 3 ? own_mbit : reducers_mbit;
            callees[member_key(k)].join.emplace().upload = known_bandwidth(mbit * kBytesPerMbit);
            if (k % 2 == 1) plan.ranges.push_back({PeerIndex{k}, k / 2, k / 2 + 1});
        }
        veterans = veterans_of(plan);
        plan.relays = choose_relays(plan, callees, veterans);
    }
    std::set<PeerKey> all() const {
        std::set<PeerKey> keys;
        for (const auto& member : plan.members) keys.insert(member.peer);
        return keys;
    }
    wire::Plan plan;
    std::map<PeerKey, Callee> callees;
    Veterans veterans;  ///< the last round was like this one
};

}  // namespace

TEST_CASE("a small round has no relays, nor has one with a fast coordinator", "[round]") {
    CHECK(RelayedRound(wire::kMaxVoters, 10, 1'000).plan.relays.empty());
    CHECK(RelayedRound(300, 10'000, 100).plan.relays.empty());
    CHECK_FALSE(RelayedRound(300, 10, 100).plan.relays.empty());
}

TEST_CASE("relays are reducers, the fastest, and never the coordinator", "[round]") {
    RelayedRound round(1'000, 100, 20);
    for (const std::uint32_t k : {101u, 301u, 555u}) {
        round.callees[member_key(k)].join->upload = Bandwidth{1'000 * kBytesPerMbit};
    }
    round.plan.relays = choose_relays(round.plan, round.callees, round.veterans);
    CHECK(round.plan.relays == std::vector<std::uint32_t>{101, 301, 555});
    round.callees[member_key(301)].is_lost = true;
    CHECK(choose_relays(round.plan, round.callees, round.veterans) ==
          std::vector<std::uint32_t>{101, 555});
    const RelayedRound even(1'000, 100, 20);
    CHECK(even.plan.relays.size() > 10);
    for (const std::uint32_t k : even.plan.relays) {
        CHECK(k % 2 == 1);
        CHECK(k != 3);
    }
}

TEST_CASE("the coordinator itself sends to members that were not in the last round", "[round]") {
    RelayedRound round(300, 10, 100);
    round.veterans.members.erase(member_key(10));
    CHECK(told_directly(round.plan, round.all(), round.callees, round.veterans)
              .contains(member_key(10)));
    CHECK(choose_relays(round.plan, round.callees, {}).empty());
}

TEST_CASE("every member is served by the coordinator or by one relay", "[round][property]") {
    Random random{1};
    for (int n = 0; n < 50; ++n) {
        RelayedRound round(66 + random.below(900), 5 + random.below(100), 20 + random.below(1'000));
        for (const std::uint32_t k : round.plan.relays) {
            if (random.below(8) == 0) round.callees[round.plan.members[k].peer].is_lost = true;
        }
        const std::set<PeerKey> direct =
            told_directly(round.plan, round.all(), round.callees, round.veterans);
        std::multiset<PeerKey> told(direct.begin(), direct.end());
        for (const auto& member : round.plan.members) {
            const auto charges = charges_of(round.plan, member.peer);
            if (round.callees[member.peer].is_lost) continue;
            REQUIRE((charges.empty() || direct.contains(member.peer)));
            told.insert(charges.begin(), charges.end());
        }
        const std::set<PeerKey> all = round.all();
        REQUIRE(std::vector(told.begin(), told.end()) == std::vector(all.begin(), all.end()));
    }
}
