// Plans as they go on the wire: from the seats of a round and the planner's shares, and amended
// when a member is lost.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "peer/config.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::round {

/// A member of the round and what it joined with.
struct Seat {
    std::optional<wire::Join> join;
    Endpoint endpoint;  ///< port 0: cannot be dialled, so it reduces nothing
    bool is_lost = false;
};

struct Veterans;

struct PlannedRound {
    wire::Plan plan;
    Duration expected{};  ///< the planner's time for scatter and gather; 0 when no link is known
};

/// The first plan of a round. Nothing when nobody has samples or nobody can be dialled. Requires
/// that every seat has joined.
std::optional<PlannedRound> make_plan(const RoundRules& rules, const Term& term,
                                      std::uint32_t attempt, const UpdateScalars& scalars,
                                      const std::map<PeerKey, Seat>& seats,
                                      const Veterans& veterans);

/// The plan without the members `gone`, and with no part for those in `demoted`; every chunk whose
/// reducer remains stays where it is. Nothing when no reducer or no samples are left.
std::optional<wire::Plan> amend_plan(const RoundRules& rules, const wire::Plan& plan,
                                     const std::map<PeerKey, Seat>& seats,
                                     const std::set<PeerKey>& gone,
                                     const std::set<PeerKey>& demoted, const Veterans& veterans);

}  // namespace dedloc::round
