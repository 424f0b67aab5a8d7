// The coordinator's part in a round: it decides when a round begins and which peers take part,
// amends the plan when a member is lost, and collects the votes that decide the round. Every peer
// has a Coordinator; it acts only while this peer leads (membership/election).
//
//   gathering ──samples reach the target──► called ─all joined or timeout─► planned
//       ▲                                                                    │   ▲
//       │                                  lost or stalled: plan amended,    │   │
//       │                                  chunks that have arrived are kept └───┤
//       │                                                                        │ all ready
//       └────── decided by a majority of the voters ◄────────────────────── proposed
//
// A round that cannot end is cancelled: the phase is gathering again, and a heartbeat later the
// members are called again, with the contributions that they have kept.
//
// A new leader first proposes again the record that voters have accepted in an earlier term. A
// proposed record is never amended: a member that is lost after the proposal was ready before it,
// or fetches the result later.
//
// Peers     participation.hpp chooses the peers that are called and how long a Call waits for each.
//
// Averages  The coordinator proposes the average that it holds itself, however many members report
//           another: reducers may send different averages to different members. It waits for its
//           own member, and judges lateness by what that member misses. A voter votes only for an
//           average that it holds itself, so a majority of the voters takes part in each round, and
//           has the coordinator's average before it is proposed (coordinator_proposals.cpp).
//
// Claims    claims.hpp judges what members claim when they join, hearing.hpp complaints about
//           members that do not send; judge.hpp knows who is believed. A member whose pieces a
//           reducer refuses is left out at once, and the complaint is charged to the reducer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "peer/config.hpp"
#include "peer/membership/election.hpp"
#include "peer/membership/links.hpp"
#include "peer/membership/voter.hpp"
#include "peer/outbox.hpp"
#include "peer/progress/target_batch.hpp"
#include "peer/round/callee.hpp"
#include "peer/round/head_times.hpp"
#include "peer/round/hearing.hpp"
#include "peer/round/judge.hpp"
#include "peer/round/late_links.hpp"
#include "peer/round/member.hpp"
#include "peer/round/participation.hpp"
#include "peer/round/phases.hpp"
#include "peer/round/plan_maker.hpp"
#include "peer/round/relays.hpp"

namespace dedloc::round {

/// State machine of this peer as coordinator. Handlers only record what has happened; advance(),
/// which must follow every event, makes all transitions. phases.hpp says what each phase knows.
class Coordinator {
  public:
    /// Keeps references to all arguments but `self`; they must outlive it.
    Coordinator(const PeerConfig& config, const PeerKey& self, const membership::Links& links,
                const membership::Voter& voter, membership::Election& election, const Member& own)
        : config_(config),
          self_(self),
          links_(links),
          voter_(voter),
          election_(election),
          own_(own),
          head_(config.rules),
          batch_({.target = config.rules.target_batch, .heartbeat = config.rules.heartbeat}),
          judge_(config, self, links, voter, head_, batch_),
          participation_(config, self, links, voter, own, head_, judge_, batch_) {}

    /// Samples and speed of a trainer, from its heartbeat or from our own trainer.
    void on_report(TimePoint now, const PeerKey& from, StepIndex step, Samples samples,
                   double samples_per_second);
    /// The head has changed. `is_live`: by a decision made at this moment, so no trainer has begun
    /// earlier to compute on the new state. `last`: the record that led to the head; null: unknown.
    void on_head(TimePoint now, bool is_live, const CommitRecord* last);
    /// A new generation has begun: a round of the former one is over, although head, coordinator
    /// and number of the term may be the same.
    void on_generation();
    /// The run is paused, or goes on. While it is paused no round is called; a round that has been
    /// called ends as usual.
    void set_paused(TimePoint now, bool is_paused);
    /// True when the swarm has computed the target batch, as estimated from the reports.
    bool is_target_reached(TimePoint now) const {
        return batch_.estimate(now) >= config_.rules.target_batch;
    }
    /// A called peer's Join. If its claim is impossible, it is no longer called.
    void on_join(TimePoint now, const PeerKey& from, StepIndex step, const wire::Join& join,
                 Outbox& out);
    /// A reducer has averaged all its chunks.
    void on_reduced(const PeerKey& from, StepIndex step, const wire::Reduced& reduced);
    /// A member's complaint about members that do not send, or (from a reducer) whose pieces it
    /// refused.
    void on_complaint(TimePoint now, const PeerKey& from, StepIndex step,
                      const wire::Stalled& stalled, Outbox& out);
    /// A member holds the whole average.
    void on_ready(TimePoint now, const PeerKey& from, StepIndex step, const wire::Ready& ready);
    /// A voter's vote for the proposal. Returns the decision if this vote completes the majority.
    std::optional<Decision> on_accept(const PeerKey& from, StepIndex step,
                                      const wire::Accept& accept);
    /// The Commit message for a decision. Requires that on_accept() has just returned it.
    wire::Commit commit_of(const Decision& decision) const;
    /// A member or voter lacks the base of a PlanChange: sends it the whole plan, once.
    void on_plan_query(TimePoint now, const PeerKey& from, StepIndex step,
                       const wire::PlanQuery& query, Outbox& out);
    /// A heartbeat: sends the plan directly to a member whose relay has not delivered it.
    void on_heartbeat(TimePoint now, const PeerKey& from, const wire::Heartbeat& heartbeat,
                      Outbox& out);
    /// A peer is not linked any more.
    void on_link_lost(TimePoint now, const PeerKey& peer, Outbox& out);
    /// A peer is linked (again): sends it the Call, Plan or proposal that it needs to take part.
    void on_newcomer(const PeerKey& peer, Outbox& out);
    /// Handles timeouts and takes every transition that the last event has made possible.
    void advance(TimePoint now, Outbox& out);

    /// Members of the round and voters, without the members that the plan's relays serve.
    std::set<PeerKey> addressees() const;
    /// The plan of the round is still to be sent to some peers.
    bool is_telling() const {
        const auto* round = in<PlannedRound>();
        return round != nullptr && !round->delivery.untold.empty();
    }
    /// When advance() must be called next; kNever: not before another event.
    TimePoint next_deadline() const;
    /// Fails a DEDLOC_CHECK if the state contradicts itself, or what the last check has seen.
    void check_invariants() const;

  private:
    template <class P>
    P* in() {
        return std::get_if<P>(&phase_);
    }
    template <class P>
    const P* in() const {
        return std::get_if<P>(&phase_);
    }
    bool is_about_us(StepIndex step, const Term& term) const;
    bool is_ours() const;
    std::set<PeerKey> receivers() const;
    void send_to(const std::set<PeerKey>& peers, wire::Body body, Outbox& out);
    void end_round();
    void cancel(TimePoint now, const std::string& why, Outbox& out);
    void meet_deadlines(TimePoint now, Outbox& out);

    // While peers gather.
    void gather(TimePoint now, Gathering& gathering, Outbox& out);
    bool could_voters_judge(TimePoint now) const;
    void call(TimePoint now, Gathering& gathering, Outbox& out);

    // Steps of a round that is called.
    TimePoint next_join_deadline(const CalledRound& round) const;
    void join_overdue(TimePoint now, CalledRound& round, Outbox& out);
    void drop_overflow(TimePoint now, Callees& callees, Outbox& out);
    void drop_other_mixtures(Callees& callees, Outbox& out) const;
    bool can_voters_judge(const CalledRound& round) const;
    void plan(TimePoint now, CalledRound& round, Outbox& out);

    // Steps of a round that is planned. `round` is dangling after a step that cancels or proposes.
    bool has_trusted_reducers(const PlannedRound& round, const PeerKey& peer) const;
    void exclude_flooder(TimePoint now, const PeerKey& peer, Outbox& out);
    void go_on(TimePoint now, PlannedRound& round, Outbox& out);
    void publish(TimePoint now, PlannedRound& round, const std::optional<wire::Plan>& base,
                 Outbox& out);
    void send_plan(TimePoint now, PlannedRound& round, const std::optional<wire::Plan>& base,
                   Outbox& out);
    void tell_some(TimePoint now, PlannedRound& round, Outbox& out);
    void amend(TimePoint now, PlannedRound& round, Outbox& out);
    Delay delay(const PlannedRound& round, Duration time) const;
    Hearing hearing(TimePoint now, PlannedRound& round, Outbox& out);
    void judge_stalls(TimePoint now, PlannedRound& round, Outbox& out);
    void judge_hung_up(TimePoint now, PlannedRound& round, Outbox& out);
    RoundTimes times(const PlannedRound& round) const;
    bool is_awaited(const PlannedRound& round, const PeerKey& peer, const Callee& callee) const;
    bool is_ready_at_all_but_lost(const PlannedRound& round) const;
    void hurry(TimePoint now, PlannedRound& round);
    void time_out(TimePoint now, PlannedRound& round, Outbox& out);
    void resolve_disagreement(TimePoint now, PlannedRound& round, Outbox& out);
    void propose(TimePoint now, PlannedRound& round, Outbox& out);

    // Steps of a round that is proposed.
    void propose_again(TimePoint now, const CommitRecord& record, Outbox& out);
    void ask_again(TimePoint now, ProposedRound& round, Outbox& out);

    const PeerConfig& config_;
    const PeerKey self_;
    const membership::Links& links_;
    const membership::Voter& voter_;
    membership::Election& election_;
    const Member& own_;
    HeadTimes head_;
    progress::TargetBatch batch_;
    Judge judge_;
    Participation participation_;

    CoordinatorPhase phase_;
    StepIndex step_;          ///< the round's step
    bool has_begun_ = false;  ///< batch_ counts for step_
    Term term_;               ///< term of the last round
    /// The last attempt of that term: they ascend, so a term and an attempt name one plan.
    std::uint32_t attempt_ = 0;
    TimePoint retry_at_ = kNever;                    ///< when a cancelled round is called again
    TimePoint next_estimate_at_ = TimePoint::min();  ///< next estimate of the target batch
    Duration expected_{};       ///< planned duration of the last round that was planned
    TimePoint published_at_{};  ///< when the last plan was sent; if in parts, the last one so far
    Veterans veterans_;         ///< members of the last decided round planned here

    /// What the last check of the invariants has seen.
    struct Seen {
        Term term;
        std::uint32_t attempt = 0;
        std::size_t phase = 0;
        std::size_t ready = 0;
        std::size_t votes = 0;
        Digest record;
        TimePoint head_since{};
    };
    mutable Seen seen_;
};

}  // namespace dedloc::round
