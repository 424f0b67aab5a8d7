// What the coordinator knows in each phase of a round. A phase is a value: going on to the next one
// replaces it, so nothing that belongs to one round is left for another.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "peer/membership/quorum.hpp"
#include "peer/membership/voter.hpp"
#include "peer/round/callee.hpp"
#include "peer/round/hearing.hpp"
#include "peer/round/judge.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::round {

/// A member whose link was lost during the round.
struct HungUp {
    PeerKey peer;            ///< its key
    Judge::Account account;  ///< its account
    Duration waited;         ///< time since the Call or the plan
};

/// The swarm computes; no round is called.
struct Gathering {
    TimePoint deadline = kNever;       ///< when the coordinator looks again
    TimePoint members_since = kNever;  ///< since when any eligible peer has been linked
    TimePoint frozen_since = kNever;   ///< since when most trainers have been frozen
};

/// Peers are called and join.
struct CalledRound {
    Callees callees{};              ///< those that are called; one that cannot join is removed
    std::vector<HungUp> hung_up{};  ///< in this round
    TimePoint called_at{};          ///< when they were called
    TimePoint deadline = kNever;    ///< when the next of them is late

    /// Whether all have joined.
    bool have_all_joined() const;
};

/// What members have said of the present plan.
struct Attempt {
    std::set<PeerKey> reduced{};               ///< reducers that have averaged their chunks
    std::map<PeerKey, Digest> ready{};         ///< digests of ready members' averages
    std::map<PeerKey, TimePoint> ready_at{};   ///< when they were ready
    Hearing::Stalls stalls{};                  ///< complaints
    TimePoint judge_at = kNever;               ///< when the complaints are judged
    std::map<PeerKey, TimePoint> resent_at{};  ///< when a peer was last sent the plan again
};

/// How the present plan gets to the members (coordinator_plans.cpp).
struct Delivery {
    std::vector<PeerKey> untold{};  ///< peers that it is still to be sent to, the next one last
    /// When these get it; if there are none, when the plan may be amended.
    TimePoint tell_at{};
    TimePoint heed_at{};          ///< complaints before that are ignored
    TimePoint honest_at{};        ///< complaints before that are lies
    std::set<PeerKey> holders{};  ///< peers that have said they hold it
};

/// Members follow a plan, which is amended when a member is lost.
struct PlannedRound {
    wire::Plan plan;                ///< the present one
    Callees callees{};              ///< its members', and those of members lost since the Call
    std::vector<HungUp> hung_up{};  ///< in this round
    TimePoint deadline = kNever;    ///< when the round is too late
    Attempt attempt{};              ///< under the present plan
    Delivery delivery{};            ///< how that plan is sent
    std::set<PeerKey> gone{};       ///< members to remove with the next amendment
    std::set<PeerKey> demoted{};    ///< reducers to relieve with it
    bool is_amend_due = false;      ///< an amendment may be needed
    bool is_amended = false;        ///< the present plan is not the first one

    /// Whether the peer reduces chunks.
    bool reduces(const PeerKey& peer) const { return round::reduces(plan, peer); }
    /// Whether all other reducers have averaged their chunks.
    bool is_reduced_by_all_but(const PeerKey& peer) const;
    /// Whether the voter holds the average that the member `self` holds.
    bool agrees(const PeerKey& self, const PeerKey& voter) const;
    /// Whether most voters do.
    bool do_voters_agree(const PeerKey& self, const Head& head) const;
    /// False if too few voters are left that hold the average that is here, or may come to hold it.
    bool may_voters_agree(const PeerKey& self, const Head& head) const;
};

/// The voters are asked to vote for the record.
struct ProposedRound {
    wire::Propose proposal;                ///< without its record if it follows from the plan
    CommitRecord record;                   ///< the proposed one
    TimePoint proposed_at{};               ///< when it was proposed first in this term
    std::optional<wire::Plan> plan{};      ///< none: the record is of an earlier term
    Callees callees{};                     ///< its members'
    TimePoint ask_at = kNever;             ///< when it is proposed again
    std::map<PeerKey, Signature> votes{};  ///< so far

    /// The proposal with its record, for voters that may not know the plan.
    wire::Propose whole() const;
};

/// The phase of the coordinator.
using CoordinatorPhase = std::variant<Gathering, CalledRound, PlannedRound, ProposedRound>;

/// The callees of the round; null: none is called.
Callees* callees_of(CoordinatorPhase& phase);
/// The same.
const Callees* callees_of(const CoordinatorPhase& phase);
/// The plan of the round; null: there is none.
const wire::Plan* plan_of(const CoordinatorPhase& phase);

/// Whether a majority of these voters are such.
template <class Predicate>
bool is_majority_of(const std::vector<PeerKey>& voters, Predicate is_one) {
    std::vector<PeerKey> some;
    std::ranges::copy_if(voters, std::back_inserter(some), is_one);
    return membership::is_majority(voters, some);
}

}  // namespace dedloc::round
