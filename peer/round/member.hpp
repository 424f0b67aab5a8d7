// One peer's part in a round, from the call to the applied update.
//
//   idle ──state──► working ──Call──► freezing ──frozen──► frozen ──Plan──► reducing ──average──┐
//     ▲              ▲                                       ▲                 │                ▼
//     │              │                                       └──── Cancel ─────┴───────────── ready
//     │              │                                                                          │
//     │              └────── state ─── applying ◄──────── decided ──────────────────────────────┘
//     └── behind, or decided without our average: the state is fetched
//
// The coordinator may change in any phase: a contribution stays frozen until the round is decided,
// and chunks that have arrived are kept until it is decided or cancelled. After a Cancel a member
// waits with its contribution for the next Call; one without samples goes back to work. Without a
// coordinator, a member that knows that the swarm has computed the target batch freezes its
// contribution and waits for a call (hold). A member that does not receive averages holds no state:
// its step is that of the head.
//
// Overlap   In a run with overlap the trainer has a sum from `frozen` to `applying` too, which
//           `working` goes on with. Its samples count for the next round. The sum survives one
//           missed round (fall_behind), and no second one (is_sum_too_old). README.md has the
//           rules.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/workers.hpp"
#include "peer/base/random.hpp"
#include "peer/config.hpp"
#include "peer/membership/voter.hpp"
#include "peer/outbox.hpp"
#include "peer/round/dispute.hpp"
#include "peer/round/held_contribution.hpp"
#include "peer/round/member_phases.hpp"
#include "peer/round/mixtures.hpp"
#include "peer/round/reduction.hpp"
#include "peer/round/sum.hpp"

namespace dedloc::round {

/// State machine of this peer as member of rounds.
class Member {
  public:
    /// The phase of the member in the diagram above.
    enum class Phase : std::uint8_t {
        kIdle,      ///< without the head's state: waits until it is fetched
        kWorking,   ///< the trainer computes on the head's state
        kFreezing,  ///< the trainer finishes its micro-batch
        kFrozen,    ///< has a contribution (possibly empty), waits for a plan or a call
        kReducing,  ///< follows a plan: sends, receives and averages chunks
        kReady,     ///< has the whole average, waits for the decision
        kApplying   ///< the trainer applies the average
    };

    /// Keeps references to `config`, `voter` and `workers`, which must outlive it.
    Member(const PeerConfig& config, const PeerKey& self, membership::Voter& voter,
           const kernels::Workers& workers)
        : config_(config),
          self_(self),
          voter_(voter),
          workers_(workers),
          held_(config.rules.codec,
                static_cast<std::uint32_t>(Random{config.random_seed}.split(3).next())),
          mixtures_(config.mixture) {}

    /// False for a report that tells nothing: of the state that is held already, or of one before
    /// the update that is under way. A trainer that begins with a state reports it whenever it is
    /// ready, and may have been given the same one by then.
    bool awaits(const event::StateReached& event) const {
        if (phase() == Phase::kApplying) return event.step == step_.next();
        return !holds_state_ || event.step != step_ || event.digest != digest_;
    }
    /// The trainer has a new state: applied, loaded or fetched. Requires awaits().
    void on_state(const event::StateReached& event, Outbox& out);
    /// The trainer's samples and speed.
    void on_progress(const event::Progressed& event, Outbox& out);
    /// The trainer has frozen its contribution: joins if there is a call.
    void on_frozen(const event::ContributionFrozen& event, Outbox& out);

    /// Handlers of the coordinator's messages. The caller has checked that the sender coordinates
    /// the term. A Call: freezes, or joins again with the contribution that is frozen already.
    void on_call(StepIndex step, const wire::Call& call, Outbox& out);
    /// A TurnChange: how to take part in the rounds of its term.
    void on_turn(const wire::TurnChange& turn, Outbox& out);
    /// This term is the newest one known: a turn of an earlier one is void.
    void follow_term(const Term& term, Outbox& out) {
        const bool is_void = turn_.term != term;
        if (is_void && turn_.kind != TurnKind::kEveryRound) on_turn({term}, out);
    }
    /// True if it is not called for now, so that it need not follow the rounds.
    bool is_resting() const { return turn_.kind == TurnKind::kRest; }
    /// There is no coordinator, and the swarm has computed the target batch: freezes.
    void hold(Outbox& out);
    /// A Plan: follows it, unless it is old or does not count our contribution.
    void on_plan(TimePoint now, StepIndex step, const wire::Plan& plan, Outbox& out);
    /// A PlanChange: the plan that it makes of the newest one here, for on_plan(). Nothing if it is
    /// old, or if its base is not here: then the whole plan is asked for, once.
    std::optional<wire::Plan> on_plan_change(StepIndex step, const wire::PlanChange& change,
                                             Outbox& out);
    /// A reducer's query for slices that it has freed.
    void on_slice_query(const PeerKey& from, StepIndex step, const wire::SliceQuery& query);
    /// True for a plan of this round that is newer than any seen before.
    bool is_news(StepIndex step, const wire::Plan& plan) const;
    /// A Cancel: keeps the contribution for the next Call, or works on if it has no samples.
    void on_cancel(StepIndex step, Outbox& out);
    /// A Propose, at a voter: votes for the record if it is valid and the average is known here.
    /// `has_others`: a majority of the voters is here without the sender.
    void on_propose(TimePoint now, StepIndex step, const wire::Propose& propose, bool has_others,
                    Outbox& out);
    /// The coordinator whose proposal this voter does not vote for, because it does not know its
    /// average.
    struct Refusal {
        Term term;              ///< the coordinator's
        StepIndex step;         ///< the round's
        Digest record;          ///< the proposed one
        TimePoint since;        ///< when it came first
        bool is_other = false;  ///< here is another average of the same plan
    };
    /// The last one, perhaps of an earlier round; nullopt: none.
    const std::optional<Refusal>& refusal() const { return refusal_; }

    /// A chunk from another member; kept if its plan has not arrived yet.
    void on_chunk(TimePoint now, const PeerKey& from, StepIndex step, const wire::Chunk& chunk,
                  Outbox& out);
    /// The link to a peer has closed: all chunks are due to it again.
    void on_link_lost(const PeerKey& peer);
    /// Measured bandwidths for the next Join; nullopt: unknown.
    void set_bandwidth(std::optional<Bandwidth> upload, std::optional<Bandwidth> download) {
        upload_ = upload;
        download_ = download;
    }

    /// The record of a Commit: the one that it carries, else the one that follows from its plan.
    /// Nothing if the plan is unknown here or the record's digest differs from the Commit's.
    std::optional<CommitRecord> record_of(const wire::Commit& commit) const;
    /// The head's round is decided: applies the average if it is here, else goes idle until the
    /// state is fetched. Requires that the record extends the head.
    void on_decision(const CommitRecord& record, const Certificate& certificate, Outbox& out);
    /// Applies the fetched average of a round that was decided without us. False if it does not
    /// follow the state here.
    bool on_average(const CommitRecord& record, SharedFloats average, Outbox& out);

    /// The state is not, or no longer, the swarm's, or this peer leaves: stops working on it.
    void give_up(Outbox& out);
    /// Goes back to work if the state is still the head's.
    void resume(Outbox& out);

    /// The project has signed another list of changes of the mixture; `last` is the last decided
    /// record, null: unknown. Tells trainer and host, and drops samples that the list, or what is
    /// void of it, draws from another mixture. False unless its version is higher than that of the
    /// one known.
    bool take_mixture(SharedMixture mixture, const CommitRecord* last, Outbox& out);
    /// A round is decided: changes that it should have been drawn by, but was not, are void. True
    /// if there is one; trainer and host are told.
    bool compare_mixture(const CommitRecord& record, Outbox& out);
    /// Tells the trainer the mixture that a former process has kept.
    void tell_mixture(Outbox& out) const;
    /// The mixture of each step, as far as it is known here.
    const Mixtures& mixtures() const { return mixtures_; }

    /// The run is paused, or goes on: the trainer stops after its micro-batch and keeps its sum,
    /// and goes on with it. A round that has been called ends as usual.
    void set_paused(bool is_paused, Outbox& out);
    /// A new generation begins with this state. If this peer has that state, it keeps it and its
    /// contribution, and only the round begins again.
    void restart(const Digest& state, Outbox& out);
    /// The head has moved, for a member that does not receive.
    void follow_head(Outbox& out);
    /// Takes the buffer of an average that is not needed any more. The next average uses it again
    /// if nothing else holds it by then: clearing fresh memory takes as long as filling it. Null is
    /// ignored.
    void reuse(const SharedFloats& average) {
        if (average) spare_ = std::const_pointer_cast<FloatVector>(average);
    }
    /// Computes some digests of average leaves that are already here, to shorten the round's end.
    /// False: none is left for now.
    bool work_ahead() {
        Reduction* const reduction = this->reduction();
        return reduction != nullptr && reduction->work_ahead();
    }
    /// Elements of the present round's average that are digested.
    std::uint64_t digested() const {
        const Reduction* const reduction = this->reduction();
        return reduction != nullptr ? reduction->digested() : 0;
    }
    /// The run is over: no more work.
    void finish(Outbox& out);

    /// Handles timeouts: complains to the coordinator about members that do not send, and ends
    /// pacing that has stalled.
    void advance(TimePoint now, Outbox& out);
    /// When advance() must be called next; kNever: not before another event.
    TimePoint next_deadline() const;

    /// The next chunk for this peer as a frame made by `seal(step, body)` for this kind of link; an
    /// empty frame if none is due.
    template <class Seal>
    Frame next_frame(TimePoint now, const PeerKey& to, wire::LinkKind link, Seal&& seal) {
        Reduction* const reduction = this->reduction();
        if (reduction == nullptr) return {};
        const auto due = reduction->next(to);
        if (!due) return {};
        last_sent_ = now;
        if (due->kind == wire::ChunkKind::kScatter) return seal(step_, reduction->body(*due));
        // All receivers get the same averages: each is encoded once for each kind of link.
        auto& sealed = round_->sealed;
        const std::tuple name{reduction->sum_id(), due->chunk, link};
        const auto known = sealed.find(name);
        if (known != sealed.end()) return known->second;
        if (sealed.size() >= kSealedFrames) sealed.erase(sealed.begin());
        return sealed.emplace(name, seal(step_, reduction->body(*due))).first->second;
    }
    /// True if there are chunks to send to this peer, now or when pacing allows it.
    bool has_next(const PeerKey& to) const {
        const Reduction* const reduction = this->reduction();
        return reduction != nullptr && reduction->has_next(to);
    }
    /// Reducers whose next chunk pacing held back and now allows, once each.
    std::vector<PeerKey> take_released();
    /// Ends pacing until the next plan.
    void release_all();
    /// Limit, in bytes, of chunks in the queue of one link.
    std::uint64_t window_bytes() const;
    /// True if any chunk of this round is still to be sent.
    bool has_due_chunks() const {
        const Reduction* const reduction = this->reduction();
        return reduction != nullptr && reduction->has_due_chunks();
    }
    /// True once after new chunks have become due, possibly for every peer.
    bool take_has_more() { return std::exchange(has_more_, false); }
    /// Peers whose windows have opened, once each.
    std::vector<PeerKey> take_opened();

    std::optional<Bandwidth> upload() const { return upload_; }
    std::optional<Bandwidth> download() const { return download_; }

    /// The phase that the member is in.
    Phase phase() const { return static_cast<Phase>(phase_.index()); }
    /// True if the trainer has the head's state and is not about to change it.
    bool has_state() const {
        return config_.receives && phase() != Phase::kIdle && phase() != Phase::kApplying;
    }
    /// What the round waits for here; both are empty if it waits for nothing.
    struct Missing {
        std::set<PeerKey> senders{};   ///< for whose slices the others wait
        std::set<PeerKey> reducers{};  ///< members whose averages have not
    };
    /// Empty unless this member reduces.
    Missing missing() const;
    /// Whether this contributor's slices come here, or have come, under the present plan.
    bool is_sent_by(TimePoint now, const PeerKey& peer) const;
    /// When the slices of this peer's contribution for this member's part had come, or would have
    /// if its window had not kept it from sending them; nothing: none has come in this round.
    std::optional<TimePoint> heard_contribution(const PeerKey& peer) const {
        return round_ ? round_->arrivals.contribution(peer, reduction()) : std::nullopt;
    }
    /// When this peer's last chunk of an average came in this round; nothing: none has come.
    std::optional<TimePoint> heard_average(const PeerKey& peer) const {
        return round_ ? round_->arrivals.average(peer) : std::nullopt;
    }
    /// True from the Call, or hold(), until the decision or the Cancel.
    bool is_in_round() const { return phase() >= Phase::kFreezing && phase() <= Phase::kReady; }
    /// True while the trainer finishes a micro-batch whose samples would be lost if another state
    /// were loaded now.
    bool is_handing_over() const { return is_handing_over_; }
    /// True if the trainer has any state, current or not.
    bool holds_state() const { return holds_state_; }
    /// Step and digest of the trainer's state; the samples of the contribution to its round so far,
    /// and samples per second.
    StepIndex step() const { return step_; }
    const Digest& digest() const { return digest_; }
    Samples samples() const { return samples_; }
    double samples_per_second() const { return is_paused_ ? 0 : samples_per_second_; }
    /// The plan that is followed; null: none.
    const wire::Plan* plan() const {
        const Reduction* const reduction = this->reduction();
        return reduction != nullptr && reduction->is_following() ? &reduction->plan() : nullptr;
    }
    /// Peers that flood this one with chunks of sums that are in none of its plans
    /// (Reduction::flooders()).
    std::set<PeerKey> flooders() const {
        const Reduction* const reduction = this->reduction();
        return reduction != nullptr ? reduction->flooders() : std::set<PeerKey>{};
    }
    /// The newest plan seen in this round, also one that this peer is not in; null: none.
    const wire::Plan* last_plan() const {
        return round_ && round_->plan ? &*round_->plan : nullptr;
    }
    /// Rounding error that the next contribution makes up for (Feedback); null: none.
    SharedFloats residual() const { return held_.residual(); }
    /// The average of this record, until its round is decided; null if it is not here.
    SharedFloats average_of(const CommitRecord& record) const;
    /// Fails a DEDLOC_CHECK if the state contradicts itself, or what the last check has seen.
    void check_invariants() const;

  private:
    static constexpr std::size_t kSealedFrames = 64;

    void work(Outbox& out);
    void compute(Outbox& out);
    void overlap(Outbox& out);
    void freeze(const Term& term, Outbox& out);
    void drop_sum(Outbox& out);
    void mixture_changed(const SharedMixture& former, Outbox& out);
    bool is_sum_too_old() const;
    bool keeps_samples() const {
        return turn_.kind == TurnKind::kSomeRounds || turn_.kind == TurnKind::kWhenDone;
    }
    std::string turn_text() const;
    void hold_when_done(Outbox& out);
    void keep_samples(Outbox& out);
    bool wait_with_contribution(Outbox& out);
    void forget_round();
    void forget_attempts() { round_.reset(); }
    bool knows_average_of(const CommitRecord& record, bool is_inherited, bool has_others) const;
    std::optional<Dispute> dispute_about(const CommitRecord& record) const;
    void settle_dispute(const CommitRecord& record, const FloatVector& average, Outbox& out);
    void fall_behind(Outbox& out);
    void join(const Term& term, Outbox& out);
    MemberRound& this_round() { return round_ ? *round_ : round_.emplace(); }
    Reduction& begin_reduction();
    const Reduction* reduction() const {
        return round_ && round_->reduction ? &*round_->reduction : nullptr;
    }
    Reduction* reduction() { return round_ && round_->reduction ? &*round_->reduction : nullptr; }
    bool has_plan(const Term& term, std::uint32_t attempt) const;
    bool counts_us(const wire::Plan& plan) const;
    void check_progress(Outbox& out);
    TimePoint release_at() const;
    void report_refused(Outbox& out);
    void complain(TimePoint now, Reducing& reducing, Outbox& out);
    Duration stall_timeout_of(std::uint32_t part) const;
    TimePoint latest_end() const;

    const PeerConfig& config_;
    const PeerKey self_;
    membership::Voter& voter_;
    const kernels::Workers& workers_;
    MemberPhase phase_;
    std::optional<MemberRound> round_;  ///< nothing: no plan or chunk of the round is here
    std::optional<Dispute> dispute_;    ///< about the last decision, until its average is here
    bool is_finished_ = false;
    bool is_paused_ = false;
    bool holds_state_ = false;  ///< the trainer has the state `step_`, current or not
    StepIndex step_;
    Digest digest_;
    Samples samples_;  ///< in the sum while working, in a round in the frozen contribution
    double samples_per_second_ = 0;
    Sum sum_;
    HeldContribution held_;
    Mixtures mixtures_;
    wire::TurnChange turn_;         ///< the last one, or the default
    bool is_handing_over_ = false;  ///< behind, and Freeze is not answered yet
    unsigned stale_freezes_ = 0;    ///< answers to come whose samples a change has made void
    std::optional<Bandwidth> upload_;
    std::optional<Bandwidth> download_;

    std::shared_ptr<FloatVector> spare_;  ///< buffer of an old average, for the next one
    std::optional<Refusal> refusal_;
    std::pair<Term, std::uint32_t> asked_for_;  ///< term and attempt of the last PlanQuery
    TimePoint last_sent_{};                     ///< when we last sent a chunk
    bool has_more_ = false;

    /// What the last check of the invariants has seen.
    struct Seen {
        bool has_contribution = false;
        std::uint32_t contribution = 0;
        Samples samples;
    };
    mutable Seen seen_;
};

/// The record of a round: its plan, its average and the state that the contributions were computed
/// on, chained to `head`.
CommitRecord record_of(const wire::Plan& plan, const Digest& average, const Digest& previous_state,
                       const Head& head);

}  // namespace dedloc::round
