// A plan of a thousand members is 60 kB, and so many of them are more than one uplink carries in a
// second. So in large rounds a few members with fast links, to whom the others are linked, pass on
// what the coordinator says to all (wire::Relay): it sends its frame to them, and each sends it to
// its share of the others. Frames stay signed by the coordinator, and everything passed on may come
// twice or be repeated later without harm. A relay that fails costs time: heartbeats show who lacks
// the plan, who has not voted and who has missed a commit, and the coordinator tells them itself.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "peer/round/plan_maker.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::round {

/// What the members of the last round are linked with: its reducers.
struct Veterans {
    std::set<PeerKey> members;
    std::set<PeerKey> reducers;
};
Veterans veterans_of(const wire::Plan& plan);

/// Of the last round's reducers, those that together get the plan to everybody soonest; none when
/// the coordinator alone is as quick, or the round is small. Ascending member indices.
///
/// Requires  every member has a seat that has joined
/// Cost      O(members)
std::vector<std::uint32_t> choose_relays(const wire::Plan& plan,
                                         const std::map<PeerKey, Seat>& seats,
                                         const Veterans& veterans);

/// Whom this relay of the plan passes things on to: every member but the relays and the
/// coordinator has one relay. Nobody if it is no relay.
std::vector<PeerKey> charges_of(const wire::Plan& plan, const PeerKey& relay);

/// Of `all`, those that the coordinator tells itself: relays, who is not in the plan or was not in
/// the last one, and those whose relay is lost.
std::set<PeerKey> told_directly(const wire::Plan& plan, std::set<PeerKey> all,
                                const std::map<PeerKey, Seat>& seats, const Veterans& veterans);

}  // namespace dedloc::round
