#include "peer/round/plan_maker.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "peer/planning/request.hpp"
#include "peer/round/relays.hpp"

namespace dedloc::round {
namespace {

PeerKey callee_key(std::size_t number) {
    PeerKey key;
    key.bytes[0] = static_cast<std::byte>(number);
    return key;
}

/// The members that reduce in a round of the coordinator, member 0, and peers with links to it from
/// these hosts, which can be dialled there.
std::set<std::uint32_t> reducers(const std::vector<std::string>& hosts) {
    RoundRules rules;
    rules.elements = 10'000'000;
    std::map<PeerKey, Callee> callees;
    for (std::size_t k = 0; k <= hosts.size(); ++k) {
        Callee& callee = callees[callee_key(k)];
        callee.join.emplace();
        callee.join->samples = Samples{1};
        callee.join->upload = callee.join->download = Bandwidth{1'000'000};
        callee.endpoint = {k == 0 ? "" : hosts[k - 1], 4'000};
    }
    const auto round =
        make_plan(rules, {.number = 1, .coordinator = callee_key(0)}, 1, {}, callees, Veterans{});
    REQUIRE(round);
    std::set<std::uint32_t> reducers;
    for (const wire::ChunkRange& range : round->plan.ranges) reducers.insert(range.member.value());
    return reducers;
}

TEST_CASE("a peer at an IPv6 address reduces only if all members have IPv6", "[round]") {
    using Members = std::set<std::uint32_t>;
    CHECK(reducers({"10.0.0.1", "10.0.0.2"}) == Members{0, 1, 2});
    CHECK(reducers({"2001:db8::1", "2001:db8::2"}) == Members{0, 1, 2});
    CHECK(reducers({"10.0.0.1", "2001:db8::2"}) == Members{0, 1});
    CHECK(reducers({"2001:db8::1", "10.0.0.2", "2001:db8::3"}) == Members{0, 2});
}

TEST_CASE("what a plan moves over a member's link", "[round]") {
    wire::Plan plan;
    plan.elements = 1'000;
    plan.chunk_elements = 64;
    // Two contributors, and one that only averages and does not receive.
    for (std::size_t k = 0; k < 3; ++k) {
        plan.members.push_back({.peer = callee_key(k),
                                .samples = Samples{k < 2 ? 1u : 0u},
                                .loss_sum = 0,
                                .contribution_id = 0,
                                .receives = k < 2,
                                .exponent = 0});
    }
    plan.ranges = {{PeerIndex{0}, 0, 2}, {PeerIndex{2}, 2, 16}};
    // The last chunk has 40 elements.
    const auto bytes = [](std::uint64_t elements) {
        return planning::on_the_wire(Codec::kFp32).bytes_of(elements);
    };
    const auto check = [&](std::size_t k, std::uint64_t expected) {
        const Traffic traffic = traffic_of(Codec::kFp32, plan, callee_key(k));
        CHECK(traffic.sent == expected);
        CHECK(traffic.received == expected);
    };
    check(0, bytes(872) + bytes(128));
    check(1, bytes(1'000));
    check(2, 2 * bytes(872));
    check(3, 0);
}

}  // namespace
}  // namespace dedloc::round
