// Decides when a round begins, who is in it, what becomes of it when a member is lost, and asks the
// voters for the votes that end it. Every peer has one; it acts while this peer leads
// (membership/election).
//
//   gathering ──samples reach the target──► called ──all joined, or late──► planned
//       ▲                                                                    │   ▲
//       │                                  lost or stalled: amended, and     │   │
//       │                                  what has arrived stays            └───┤
//       │                                                                        │ all ready
//       └────── decided by a majority of the voters ◄────────────────────── proposed
//
// What a predecessor has proposed is proposed again before anything else. Nothing is amended any
// more once it is proposed: a member that is lost then was ready, or is decided without.
//
// Claims    A member's samples count up to what its device can compute in the time since the round
//           began (its ticket says how fast it is); one that joins with more is left out. So is one
//           whose pieces a reducer refuses, one that is called and does not answer, and one that
//           joins and sends nothing, if a voter or two parties say so (coordinator_claims.cpp,
//           exclusions.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "peer/config.hpp"
#include "peer/membership/election.hpp"
#include "peer/membership/links.hpp"
#include "peer/membership/voter.hpp"
#include "peer/outbox.hpp"
#include "peer/progress/target_batch.hpp"
#include "peer/round/exclusions.hpp"
#include "peer/round/latecomers.hpp"
#include "peer/round/member.hpp"
#include "peer/round/plan_maker.hpp"
#include "peer/round/relays.hpp"

namespace dedloc::round {

class Coordinator {
  public:
    Coordinator(const PeerConfig& config, const PeerKey& self, const membership::Links& links,
                const membership::Voter& voter, membership::Election& election, const Member& own)
        : config_(config),
          self_(self),
          links_(links),
          voter_(voter),
          election_(election),
          own_(own),
          batch_({.target = config.rules.target_batch, .heartbeat = config.rules.heartbeat}) {}

    /// Samples of a heartbeat, or our own.
    void reported(TimePoint now, const PeerKey& from, StepIndex step, Samples samples,
                  double samples_per_second);
    /// The head has moved; `is_live`: by a decision of just now, so no trainer has computed on its
    /// state for longer than that.
    /// `last`: the decision that led to it, if it is known.
    void head_changed(TimePoint now, bool is_live, const CommitRecord* last);
    /// By the reports, the swarm has computed the target batch.
    bool is_target_reached(TimePoint now) const {
        return batch_.estimate(now) >= config_.rules.target_batch;
    }
    void joined(TimePoint now, const PeerKey& from, StepIndex step, const wire::Join& join,
                Outbox& out);
    void reduced(const PeerKey& from, StepIndex step, const wire::Reduced& reduced);
    void stalled(TimePoint now, const PeerKey& from, StepIndex step, const wire::Stalled& stalled,
                 Outbox& out);
    void ready(const PeerKey& from, StepIndex step, const wire::Ready& ready);
    /// A vote: the decision, when it was the one that was missing.
    std::optional<Decision> accepted(const PeerKey& from, StepIndex step,
                                     const wire::Accept& accept);
    /// The decision as its members are told it. Requires that accepted() has returned it just now.
    wire::Commit commit_of(const Decision& decision) const;
    /// A member that should have got the plan from a relay and has not is given it.
    void heard(TimePoint now, const PeerKey& from, const wire::Heartbeat& heartbeat, Outbox& out);
    void lost(const PeerKey& peer, Outbox& out);
    /// A peer is linked (again): what it needs to take part.
    void on_newcomer(const PeerKey& peer, Outbox& out);
    /// Time-outs, and whatever has become possible since the last event.
    void advance(TimePoint now, Outbox& out);

    /// Members of the round, and the voters; without those that the plan's relays tell.
    std::set<PeerKey> addressees() const;
    TimePoint next_deadline() const;
    void check_invariants() const;

  private:
    enum class Phase : std::uint8_t { kGathering, kCalled, kPlanned, kProposed };

    bool is_eligible(const PeerKey& peer, const membership::Known& known) const;
    Samples allowance(TimePoint now, const membership::Known& known) const;
    Exclusions::Account account_of(const PeerKey& peer) const;
    void exclude(const PeerKey& peer, const std::string& why, Outbox& out);
    void drop_overflow(Outbox& out);
    bool is_about_us(StepIndex step, const Term& term) const;
    void reset();
    void gather(TimePoint now, Outbox& out);
    bool has_members() const;
    bool are_expected_here() const;
    bool has_frozen_members() const;
    bool are_most_frozen() const;
    void call(TimePoint now, Outbox& out);
    void plan(TimePoint now, Outbox& out);
    void publish(const wire::Plan& plan, TimePoint now, Outbox& out);
    void amend(TimePoint now, Outbox& out);
    void judge_stalls(Outbox& out);
    bool is_corroborated(const std::set<PeerKey>& witnesses) const;
    bool is_reduced_by_all_but(const PeerKey& peer) const;
    void lose(Seat& seat);
    bool is_ready_at_all_but_lost() const;
    bool reduces(const PeerKey& peer) const;
    void time_out(TimePoint now, Outbox& out);
    void ask_again(TimePoint now, Outbox& out);
    void cancel(const std::string& why, Outbox& out);
    void propose(Outbox& out);
    void propose_again(const CommitRecord& record, Outbox& out);
    wire::Propose whole_proposal() const;
    Digest average_of_most() const;
    std::set<PeerKey> receivers() const;
    void send_to(const std::set<PeerKey>& peers, wire::Body body, Outbox& out);

    const PeerConfig& config_;
    const PeerKey self_;
    const membership::Links& links_;
    const membership::Voter& voter_;
    membership::Election& election_;
    const Member& own_;
    progress::TargetBatch batch_;

    Phase phase_ = Phase::kGathering;
    StepIndex step_;  ///< of the round
    bool has_begun_ = false;
    Term term_;
    std::uint32_t attempt_ = 0;
    std::map<PeerKey, Seat> seats_;  ///< of the round, ascending by key: member order
    std::size_t max_lost_ = 0;       ///< of the seats; those erased since are still counted
    TimePoint deadline_ = kNever;
    TimePoint ask_at_ = kNever;
    TimePoint now_{};
    TimePoint head_since_{};              ///< on our clock
    Samples carried_;                     ///< that a trainer may have computed before
    std::set<PeerKey> expected_members_;  ///< of the round before
    TimePoint members_since_ = kNever;    ///< one that can be called is linked
    TimePoint frozen_since_ = kNever;     ///< most of the trainers
    TimePoint look_at_ = TimePoint::min();
    Duration expected_{};
    TimePoint published_at_{};
    std::map<PeerKey, TimePoint> retold_;  ///< the plan, since then

    Latecomers latecomers_;
    Exclusions exclusions_;
    Veterans veterans_;  ///< of the last round that this peer has seen decided
    std::optional<wire::Plan> plan_;
    std::set<PeerKey> reduced_;         ///< in this attempt
    std::map<PeerKey, Digest> ready_;   ///< in this attempt
    std::set<PeerKey> gone_, demoted_;  ///< not yet in a plan
    bool is_amend_due_ = false;
    std::map<PeerKey, wire::Stalled> stalls_;  ///< complaints of this attempt
    TimePoint judge_at_ = kNever;

    wire::Propose proposal_;
    std::optional<CommitRecord> record_;
    std::map<PeerKey, Signature> votes_;
};

}  // namespace dedloc::round
