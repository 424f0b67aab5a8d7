// Candidates are the last round's reducers, fastest upload first. For every number k of relays the
// time until the last member has the plan is estimated: k copies from the coordinator, one hop, and
// the slowest relay's share. The best k wins; no relays if none beats the coordinator alone.
// Members are dealt to the relays in turn, by member index, so every peer derives the same shares
// from the plan.
#include "peer/round/relays.hpp"

#include <algorithm>
#include <functional>

#include "peer/wire/limits.hpp"

namespace dedloc::round {
namespace {

constexpr std::size_t kMaxRelays = 32;
/// Rounds up to this size have no relays.
constexpr std::size_t kMaxWithoutRelays = 65;
/// Latency of the additional hop.
constexpr double kHopSeconds = 0.05;
/// Assumed upload of a link that was not measured: low, so that it is not chosen.
constexpr Bandwidth kUnknownLink{1'000'000};
/// Approximate size of a reducer's endpoint on the wire.
constexpr std::size_t kEndpointBytes = 40;

/// Possible relays, fastest upload first.
std::vector<std::uint32_t> candidates(const wire::Plan& plan, const Callees& callees,
                                      const Veterans& veterans) {
    std::vector<std::uint32_t> fastest;
    for (std::uint32_t k = 0; k < plan.members.size(); ++k) {
        const PeerKey& peer = plan.members[k].peer;
        if (peer == plan.term.coordinator || !veterans.reducers.contains(peer)) continue;
        if (!callees.at(peer).is_lost) fastest.push_back(k);
    }
    std::ranges::stable_sort(fastest, std::greater<>{}, [&](std::uint32_t k) {
        return upload_of(callees.at(plan.members[k].peer));
    });
    return fastest;
}

}  // namespace

Veterans veterans_of(const wire::Plan& plan) {
    Veterans veterans;
    for (const wire::PlanMember& member : plan.members) veterans.members.insert(member.peer);
    for (const wire::ChunkRange& range : plan.ranges) {
        veterans.reducers.insert(plan.members[range.member.value()].peer);
    }
    return veterans;
}

double wire_bytes_of(const wire::Plan& plan) {
    return static_cast<double>(plan.members.size() * wire::kMemberBytes +
                               plan.ranges.size() * wire::kRangeBytes +
                               plan.reducers.size() * kEndpointBytes);
}

double upload_of(const Callee& callee) {
    return static_cast<double>(callee.join->upload.value_or(kUnknownLink).value());
}

std::vector<std::uint32_t> choose_relays(const wire::Plan& plan, const Callees& callees,
                                         const Veterans& veterans) {
    const std::size_t members = plan.members.size();
    const auto coordinator = callees.find(plan.term.coordinator);
    if (members <= kMaxWithoutRelays || coordinator == callees.end()) return {};
    const double bytes = wire_bytes_of(plan);
    const double own = upload_of(coordinator->second);
    std::vector<std::uint32_t> relays = candidates(plan, callees, veterans);
    std::size_t chosen = 0;
    double soonest = static_cast<double>(members) * bytes / own;
    for (std::size_t k = 1; k <= std::min(relays.size(), kMaxRelays); ++k) {
        const double share = static_cast<double>((members - k + k - 1) / k);
        const double slowest = upload_of(callees.at(plan.members[relays[k - 1]].peer));
        const double time =
            static_cast<double>(k) * bytes / own + share * bytes / slowest + kHopSeconds;
        if (time < soonest) soonest = time, chosen = k;
    }
    relays.resize(chosen);
    std::ranges::sort(relays);
    return relays;
}

std::vector<PeerKey> charges_of(const wire::Plan& plan, const PeerKey& relay) {
    const auto place = std::ranges::find(plan.relays, relay,
                                         [&](std::uint32_t k) { return plan.members[k].peer; });
    std::vector<PeerKey> charges;
    if (place == plan.relays.end()) return charges;
    const auto own = static_cast<std::size_t>(place - plan.relays.begin());
    std::size_t turn = 0;
    for (std::uint32_t k = 0; k < plan.members.size(); ++k) {
        const PeerKey& peer = plan.members[k].peer;
        if (peer == plan.term.coordinator || std::ranges::binary_search(plan.relays, k)) continue;
        if (turn++ % plan.relays.size() == own) charges.push_back(peer);
    }
    return charges;
}

std::set<PeerKey> told_directly(const wire::Plan& plan, std::set<PeerKey> all,
                                const Callees& callees, const Veterans& veterans) {
    for (const std::uint32_t k : plan.relays) {
        const PeerKey& relay = plan.members[k].peer;
        const auto callee = callees.find(relay);
        if (callee == callees.end() || callee->second.is_lost) continue;
        for (const PeerKey& peer : charges_of(plan, relay)) {
            if (veterans.members.contains(peer)) all.erase(peer);
        }
    }
    return all;
}

}  // namespace dedloc::round
