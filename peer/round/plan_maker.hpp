// Makes the wire::Plan of a round from its callees and the planner's shares, and amends it when a
// member is lost.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "peer/config.hpp"
#include "peer/planning/request.hpp"
#include "peer/round/callee.hpp"
#include "peer/round/relays.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::round {

/// A link that a plan asks for more than has been seen of it (round/link_probe.hpp).
struct ProbedLink {
    PeerKey peer;                 ///< whose link it is
    std::uint64_t percent = 100;  ///< planned bandwidth, as a percentage of the claimed one
};

/// A new plan and how long it should take.
struct NewPlan {
    wire::Plan plan;         ///< ready to be sent
    Duration expected{};     ///< time of scatter and gather by the claims; 0: no speed is known
    bool is_probed = false;  ///< a peer is planned with more than it claims
};

/// What a plan moves over one member's link, in encoded bytes, as if each part were one chunk.
struct Traffic {
    std::uint64_t sent = 0;      ///< slices and averages
    std::uint64_t received = 0;  ///< slices and averages
};

/// The traffic of the member `peer` of a plan that is sound; nothing for any other peer.
Traffic traffic_of(Codec codec, const wire::Plan& plan, const PeerKey& peer);

/// What the planner is asked for a round of these callees, with the size of its chunks. Requires at
/// least one callee, and that every one has joined.
planning::PlanRequest request_for(const RoundRules& rules, const Callees& callees);

/// The first plan of a round. Nothing if no member has samples or none can be dialled. The
/// link of `probed` is planned with that bandwidth if a faster link would shorten the round.
/// Requires that every callee has joined.
std::optional<NewPlan> make_plan(const RoundRules& rules, const Term& term, std::uint32_t attempt,
                                 const UpdateScalars& scalars, const Callees& callees,
                                 const Veterans& veterans,
                                 const std::optional<ProbedLink>& probed = {});

/// The next attempt: the plan without the members `gone`, and without a part for reducers in
/// `demoted`. Every chunk whose reducer remains stays where it is. Nothing if no reducer or no
/// samples remain.
std::optional<wire::Plan> amend_plan(const RoundRules& rules, const wire::Plan& plan,
                                     const Callees& callees, const std::set<PeerKey>& gone,
                                     const std::set<PeerKey>& demoted, const Veterans& veterans);

}  // namespace dedloc::round
