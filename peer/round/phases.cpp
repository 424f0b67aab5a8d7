// A voter votes only for an average that it holds, so a round can be decided only while enough
// voters hold the average of the coordinator's own member, or may still come to hold it.
#include "peer/round/phases.hpp"

namespace dedloc::round {
namespace {

template <class P>
auto callees_in(P& known) {
    if constexpr (requires { known.callees; }) {
        return &known.callees;
    } else {
        return static_cast<Callees*>(nullptr);
    }
}

}  // namespace

bool CalledRound::have_all_joined() const {
    return std::ranges::all_of(callees,
                               [](const auto& entry) { return entry.second.join.has_value(); });
}

bool PlannedRound::is_reduced_by_all_but(const PeerKey& peer) const {
    return std::ranges::all_of(callees, [&](const auto& entry) {
        return entry.first == peer || attempt.reduced.contains(entry.first) ||
               !reduces(entry.first);
    });
}

bool PlannedRound::agrees(const PeerKey& self, const PeerKey& voter) const {
    const auto own = attempt.ready.find(self);
    const auto other = attempt.ready.find(voter);
    const bool are_ready = own != attempt.ready.end() && other != attempt.ready.end();
    return are_ready && other->second == own->second;
}

bool PlannedRound::do_voters_agree(const PeerKey& self, const Head& head) const {
    return is_majority_of(head.voters, [&](const PeerKey& voter) { return agrees(self, voter); });
}

bool PlannedRound::may_voters_agree(const PeerKey& self, const Head& head) const {
    const bool is_here = attempt.ready.contains(self);
    return is_majority_of(head.voters, [&](const PeerKey& voter) {
        if (agrees(self, voter)) return true;
        const auto callee = callees.find(voter);
        if (callee == callees.end() || !callee->second.join->receives) return false;
        return attempt.ready.contains(voter) ? !is_here : !callee->second.is_lost;
    });
}

wire::Propose ProposedRound::whole() const {
    wire::Propose whole = proposal;
    whole.record = record;
    return whole;
}

Callees* callees_of(CoordinatorPhase& phase) {
    return std::visit([](auto& known) { return callees_in(known); }, phase);
}

const Callees* callees_of(const CoordinatorPhase& phase) {
    return std::visit([](const auto& known) -> const Callees* { return callees_in(known); }, phase);
}

const wire::Plan* plan_of(const CoordinatorPhase& phase) {
    if (const auto* planned = std::get_if<PlannedRound>(&phase)) return &planned->plan;
    const auto* proposed = std::get_if<ProposedRound>(&phase);
    return proposed != nullptr && proposed->plan ? &*proposed->plan : nullptr;
}

}  // namespace dedloc::round
