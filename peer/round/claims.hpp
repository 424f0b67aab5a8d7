// How the coordinator judges what members claim of themselves when they join.
//
// Samples     A Join counts up to the allowance: the samples that the device in the peer's ticket
//             can compute in the time since the head moved (Participation::allowance). A Join
//             beyond it leaves its sender out.
// Bandwidths  A claim counts as far as rounds have not contradicted it (seen_links.hpp), and no
//             round waits for a member that claims to be far slower than the others.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>

#include "peer/config.hpp"
#include "peer/round/callee.hpp"
#include "peer/round/judge.hpp"
#include "peer/round/seen_links.hpp"

namespace dedloc::round {

/// A member that needs no longer than this for one vector is not slow, and is waited for.
inline constexpr Duration kNeverSlow = std::chrono::seconds{120};

/// Why a Join excludes its sender; nothing: it does not. `allowance`: the most samples that are
/// possible.
std::optional<std::string> fault_of(const wire::Join& join, Codec codec, Samples allowance);

/// The callee with the most samples if all together claim more than a record can hold; null: they
/// do not. Requires that every callee has joined.
const PeerKey* largest_overflow(const Callees& callees);

/// Corrects the bandwidths that Joins claim by what was seen, and marks members whose links are too
/// slow to wait for. `expected`: the members of the last decided round. Requires that every callee
/// has joined, and that Judge::choose_reducers() has seen them.
void correct_claims(const RoundRules& rules, const PeerKey& self, const std::set<PeerKey>& expected,
                    const SeenLinks& links, const Judge& judge, Callees& callees);

}  // namespace dedloc::round
