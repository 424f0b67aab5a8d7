// A peer that the coordinator has called to a round, with its answer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "peer/wire/message.hpp"

namespace dedloc::round {

/// A peer called to a round.
struct Callee {
    std::optional<wire::Join> join;  ///< its answer; none: not joined yet
    Endpoint endpoint;               ///< port 0: cannot be dialled, so it reduces nothing
    std::uint64_t user = 0;          ///< BOINC user of its ticket; 0: no ticket
    bool is_lost = false;            ///< lost or too late since the plan was made
    bool is_slow = false;            ///< its link is too slow to wait for, by its own claim
    bool may_reduce = true;          ///< false: does not reach all other members, or is doubted
};

/// The peers called to a round, ascending by key: member order.
using Callees = std::map<PeerKey, Callee>;

}  // namespace dedloc::round
