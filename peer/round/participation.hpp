// Which peers the coordinator calls, and how long it waits for each of them. turns.hpp and
// latecomers.hpp decide; this class tells them what the coordinator sees of its links and of the
// rounds that are decided, and tells trainers what is decided. Belongs to the coordinator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "peer/config.hpp"
#include "peer/membership/links.hpp"
#include "peer/membership/voter.hpp"
#include "peer/outbox.hpp"
#include "peer/progress/target_batch.hpp"
#include "peer/round/head_times.hpp"
#include "peer/round/judge.hpp"
#include "peer/round/latecomers.hpp"
#include "peer/round/link_probe.hpp"
#include "peer/round/member.hpp"
#include "peer/round/turns.hpp"

namespace dedloc::round {

/// The peers that may take part in the round of the head.
class Participation {
  public:
    /// Keeps references to all arguments but `self`; they must outlive it.
    Participation(const PeerConfig& config, const PeerKey& self, const membership::Links& links,
                  const membership::Voter& voter, const Member& own, const HeadTimes& head,
                  Judge& judge, progress::TargetBatch& batch)
        : config_(config),
          self_(self),
          links_(links),
          voter_(voter),
          own_(own),
          head_(head),
          judge_(judge),
          batch_(batch),
          turns_(config.rules) {}

    /// This peer leads a new term: every trainer is in every round.
    void on_term(const Term& term) { turns_.begin(term); }
    /// This peer has called and led a round that is decided now; `took`: since its plan was sent.
    /// Comes before HeadTimes::on_head().
    void on_decision(TimePoint now, const CommitRecord& record, Duration took);
    /// The head has changed. `last`: the record that led to it; null: unknown.
    void on_head(const CommitRecord* last);
    /// The round whose members computed on this state is decided.
    void on_decided_state(const Digest& state) { latecomers_.on_decision(state); }
    /// The run was paused for this long.
    void on_resume(Duration pause) { turns_.shift(pause); }
    /// A peer was lost; `was_called`: to the round.
    void on_link_lost(const PeerKey& peer, bool was_called);
    /// So many members were lost since the head. A probe, a pause and a cancelled attempt count as
    /// all of them.
    void disturb(std::size_t members = wire::kMaxMembers) { disturbances_ += members; }
    /// A called peer has joined: `now` is the time of its Join. False: as Turns::on_join().
    [[nodiscard]] bool on_join(TimePoint now, const PeerKey& peer, StepIndex step,
                               TimePoint called_at, Samples samples);

    /// Whether the peer holds the head's state, or receives none, and may be called.
    bool is_eligible(TimePoint now, const PeerKey& peer, const membership::Known& known) const;
    /// Whether it is called to the round of `step`.
    bool is_called(TimePoint now, StepIndex step, const PeerKey& peer,
                   const membership::Known& known) const;
    /// The peers that are called to the round of `step`: at most kMaxMembers with this one.
    std::vector<PeerKey> peers_to_call(TimePoint now, StepIndex step) const;
    /// How many peers that are not among `callees` could be called to it.
    std::size_t count_outside(TimePoint now, StepIndex step, const Callees& callees) const;
    /// Whether any peer is eligible.
    bool has_members(TimePoint now) const;
    /// Whether all members of the last decided round are linked and eligible.
    bool are_expected_here(TimePoint now) const;
    /// Whether an eligible peer holds a contribution that it froze for an earlier coordinator, or
    /// without one.
    bool has_frozen_members(TimePoint now) const;
    /// Whether most trainers do.
    bool are_most_frozen(TimePoint now) const;
    /// Whether the Call of `step` waits for peers that have not reached the head's state.
    /// `timeout`: for each step that a straggler is behind. Requires that the target batch is
    /// reached.
    bool awaits_any(TimePoint now, StepIndex step, Duration timeout, Outbox& out);
    /// Chooses turns if a peer was lost since they were chosen, or if `is_new`: the head is.
    void choose_turns(TimePoint now, const Term& term, StepIndex step, bool is_new, Outbox& out);
    /// How long a Call at `called_at` waits for the peer's Join.
    Duration join_limit(const PeerKey& peer, TimePoint called_at) const;
    /// The peer has made others wait for so long. The first time it may be a trainer whose
    /// micro-batches are long, which is told so. After that it is one that ignores calls.
    /// `callees`: of the round; 0: none.
    void leave_waiting(TimePoint now, StepIndex step, const PeerKey& peer, Duration waited,
                       const std::string& why, std::size_t callees, Outbox& out);

    /// What a trainer says that it has computed.
    struct Report {
        Samples samples;                ///< finished on the state of the report
        double samples_per_second = 0;  ///< its speed
    };
    /// What counts of the peer's report: at most its allowance and the speed of its ticket.
    /// Nothing: it is not called to the round of `step`.
    std::optional<Report> bound(TimePoint now, StepIndex step, const PeerKey& peer,
                                const membership::Known& known, const Report& report) const;
    /// Upper bound of the samples that this device can have computed for the head's round.
    Samples allowance(TimePoint now, const PeerKey& peer, const membership::Known& known) const;
    /// The members of the last decided round.
    const std::set<PeerKey>& expected() const { return expected_; }
    /// How many members wait for a round with so many callees.
    std::size_t count_waiting(std::size_t callees) const {
        return std::max(callees, expected_.size());
    }

    /// The turns of trainers.
    const Turns& turns() const { return turns_; }
    /// What rounds have shown of the links of peers.
    SeenLinks& links() { return turns_.links(); }
    /// The link to probe in a round of these callees; nothing: none.
    std::optional<ProbedLink> next_probe(const Callees& callees);
    /// The round is planned: with the probe, or without it.
    void on_plan(bool is_probed) { probe_.on_plan(is_probed); }

  private:
    bool trains(const PeerKey& peer) const;
    std::vector<PeerKey> select(std::vector<PeerKey> called) const;
    std::vector<FleetMember> fleet(TimePoint now) const;
    std::set<PeerKey> without_every_round() const;
    bool awaits_members(TimePoint now, StepIndex step, Outbox& out);

    const PeerConfig& config_;
    const PeerKey self_;
    const membership::Links& links_;
    const membership::Voter& voter_;
    const Member& own_;
    const HeadTimes& head_;
    Judge& judge_;
    progress::TargetBatch& batch_;
    Turns turns_;
    Latecomers latecomers_;
    LinkProbe probe_;
    std::set<PeerKey> expected_;
    bool has_lost_any_ = false;     ///< a peer was lost since turns were chosen
    std::size_t disturbances_ = 0;  ///< since the head
};

}  // namespace dedloc::round
