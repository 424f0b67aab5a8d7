// Relays of large rounds. A plan of a thousand members is 60 kB, and a thousand copies are more
// than one uplink carries in a second. So the coordinator sends its Plan and Commit to a few
// members with fast links that the others are linked to, and each relay passes the frame on to its
// share of the other members (wire::Relay). Frames stay signed by the coordinator, and a frame that
// arrives twice or late does no harm. A relay that fails costs time only: heartbeats show which
// peers lack the plan, have not voted or have missed a commit, and the coordinator sends to them
// itself.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "peer/round/callee.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::round {

/// Members and reducers of the last round: its members are still linked to its reducers.
struct Veterans {
    std::set<PeerKey> members;   ///< all members of that round
    std::set<PeerKey> reducers;  ///< the members that reduced chunks in it
};
/// Members and reducers of this plan.
Veterans veterans_of(const wire::Plan& plan);

/// About how many bytes the plan has on the wire.
double wire_bytes_of(const wire::Plan& plan);
/// Upload bandwidth of a callee that has joined, in bytes per second; one that is not known counts
/// as 1 MB/s.
double upload_of(const Callee& callee);

/// The last round's reducers that, as relays, bring the plan to all members soonest; none if the
/// coordinator alone is as fast, or the round is small. Ascending member indices.
///
/// Requires  every member is a callee that has joined
/// Cost      O(members)
std::vector<std::uint32_t> choose_relays(const wire::Plan& plan, const Callees& callees,
                                         const Veterans& veterans);

/// The members that this relay of the plan serves; none if the peer is no relay. Every member but
/// the coordinator and the relays has exactly one relay.
std::vector<PeerKey> charges_of(const wire::Plan& plan, const PeerKey& relay);

/// The peers among `all` that the coordinator sends to itself: relays, peers that are not in the
/// plan or were not in the last one, and members whose relay is lost.
std::set<PeerKey> told_directly(const wire::Plan& plan, std::set<PeerKey> all,
                                const Callees& callees, const Veterans& veterans);

}  // namespace dedloc::round
