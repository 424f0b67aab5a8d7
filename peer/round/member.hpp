// One peer's part in a round, from the call to the applied update.
//
//   idle ──state──► working ──Call──► freezing ──frozen──► frozen ──Plan──► reducing ──average──┐
//     ▲              ▲   ▲                │                  │                 │                ▼
//     │              │   └──── Cancel ────┴──────────────────┴─────────────────┴───────────── ready
//     │              │                                                                          │
//     │              └────── state ─── applying ◄──────── decided ──────────────────────────────┘
//     └── behind, or decided without us: the state is fetched
//
// The coordinator may change in any phase: a contribution stays frozen, and what has arrived stays,
// until the round is decided or called off. Without a coordinator a member that has heard of the
// whole target batch freezes what it has and waits for a call (hold). A member that does not
// receive holds no state: it is wherever the head is.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/config.hpp"
#include "peer/membership/voter.hpp"
#include "peer/outbox.hpp"
#include "peer/round/codec.hpp"
#include "peer/round/reduction.hpp"

namespace dedloc::round {

class Member {
  public:
    enum class Phase : std::uint8_t {
        kIdle,
        kWorking,
        kFreezing,
        kFrozen,
        kReducing,
        kReady,
        kApplying
    };

    Member(const PeerConfig& config, const PeerKey& self, membership::Voter& voter)
        : config_(config),
          self_(self),
          voter_(voter),
          contribution_id_(static_cast<std::uint32_t>(Random{config.random_seed}.split(3).next())),
          feedback_(config.rules.codec) {}

    void state_reached(const event::StateReached& event, Outbox& out);
    void progressed(const event::Progressed& event);
    void frozen(const event::ContributionFrozen& event, Outbox& out);

    // From the coordinator of the term; the caller has checked that it is.
    void called(StepIndex step, const wire::Call& call, Outbox& out);
    /// There is no coordinator, and the swarm has computed the target batch: stops computing.
    void hold(Outbox& out);
    void planned(TimePoint now, StepIndex step, const wire::Plan& plan, Outbox& out);
    /// Of this round, and newer than any seen before.
    bool is_news(StepIndex step, const wire::Plan& plan) const;
    void cancelled(StepIndex step, Outbox& out);
    /// At a voter: votes, if nothing is wrong with it.
    void proposed(StepIndex step, const wire::Propose& propose, Outbox& out);

    void chunk(TimePoint now, const PeerKey& from, StepIndex step, const wire::Chunk& chunk,
               Outbox& out);
    void link_lost(const PeerKey& peer);
    /// Measured, in bytes per second; goes into the next Join. 0: not known.
    void set_bandwidth(std::uint64_t upload, std::uint64_t download) {
        upload_ = upload;
        download_ = download;
    }

    /// The record of a Commit: the one that it carries, else the one that its plan here leads to.
    /// Nothing if that has another digest.
    std::optional<CommitRecord> record_of(const wire::Commit& commit) const;
    /// The round of the head is decided: applies it if the average is here, else waits for the
    /// state. Requires that the record extends the head.
    void decided(const CommitRecord& record, const Certificate& certificate, Outbox& out);
    /// The average of a round that was decided while we were away from it. False when it does not
    /// fit the state at hand.
    bool caught_up(const CommitRecord& record, SharedFloats average, Outbox& out);

    /// The state is not (or no longer) the swarm's, or we are leaving: stop working on it.
    void outdated(Outbox& out);
    /// Works again, if the state is still the head's.
    void resume(Outbox& out);
    /// A new generation begins with this state. If it is ours, it is kept, with what was computed
    /// on it: the round begins again.
    void restart(const Digest& state, Outbox& out);
    /// Of a member that does not receive: the head has moved.
    void follow_head(Outbox& out);
    /// The room of an average that is not needed any more, for the next one once nobody else holds
    /// it: to clear fresh memory takes as long as to fill it. Null is ignored.
    void reuse(const SharedFloats& average) {
        if (average) spare_ = std::const_pointer_cast<FloatVector>(average);
    }
    /// Some of what the end of the round will ask for. False: no more can be done so far.
    bool work_ahead() { return reduction_ && reduction_->work_ahead(); }
    /// The run is over: no more work.
    void finish(Outbox& out);

    /// Tells the coordinator who keeps us waiting.
    void advance(TimePoint now, Outbox& out);
    TimePoint next_deadline() const;

    /// The next chunk for this peer, as `seal` makes a frame of it for its link; nothing when there
    /// is none yet.
    template <class Seal>
    Frame next_frame(TimePoint now, const PeerKey& to, wire::LinkKind link, Seal&& seal) {
        if (!reduction_) return {};
        const auto due = reduction_->next(to);
        if (!due) return {};
        last_sent_ = now;
        if (due->phase == wire::Phase::kScatter) return seal(step_, reduction_->body(*due));
        // Averages go to everybody: encoded once for each kind of link.
        const std::tuple name{reduction_->sum_id(), due->chunk, link};
        const auto known = sealed_.find(name);
        if (known != sealed_.end()) return known->second;
        if (sealed_.size() >= kSealedFrames) sealed_.erase(sealed_.begin());
        return sealed_.emplace(name, seal(step_, reduction_->body(*due))).first->second;
    }
    /// Chunks are left to be sent to this peer.
    bool has_next(const PeerKey& to) const { return reduction_ && reduction_->has_next(to); }
    /// Who has become due for its next chunk because others got theirs.
    std::vector<PeerKey> take_released() {
        return reduction_ ? reduction_->take_released() : std::vector<PeerKey>{};
    }
    /// Nothing is held back any more in this round.
    void release_all() {
        if (reduction_) reduction_->release_all();
        has_more_ = true;
    }
    /// How many bytes of chunks may wait in the queue of a link.
    std::uint64_t window_bytes() const;
    /// Something is left to be sent in this round.
    bool has_due_chunks() const { return reduction_ && reduction_->has_due_chunks(); }
    /// True once after there was more to send than before.
    bool take_has_more() { return std::exchange(has_more_, false); }

    Phase phase() const { return phase_; }
    bool has_state() const {
        return config_.receives && phase_ != Phase::kIdle && phase_ != Phase::kApplying;
    }
    bool is_in_round() const { return phase_ >= Phase::kFreezing && phase_ <= Phase::kReady; }
    /// Whatever state the trainer has, current or not.
    bool holds_state() const { return holds_state_; }
    StepIndex step() const { return step_; }
    const Digest& digest() const { return digest_; }
    Samples samples() const { return samples_; }
    double samples_per_second() const { return samples_per_second_; }
    const wire::Plan* plan() const {
        return reduction_ && reduction_->is_following() ? &reduction_->plan() : nullptr;
    }
    /// The last one of this round, also one without us; null before.
    const wire::Plan* last_plan() const { return has_plan_ ? &plan_ : nullptr; }
    /// What rounding has taken from our contributions and the next one makes up for; null: nothing.
    SharedFloats residual() const { return feedback_.residual(); }
    /// That average, for as long as the round is not decided; null if it is not here.
    SharedFloats average_of(const CommitRecord& record) const;
    void check_invariants() const;

  private:
    static constexpr std::size_t kSealedFrames = 64;

    void work(Outbox& out);
    void forget_round();
    void forget_attempts();
    void settle(const CommitRecord& record);
    void join(Outbox& out);
    void begin_reduction();
    void check_progress(Outbox& out);
    TimePoint release_at() const;
    void report_refused(Outbox& out);
    Duration stall_timeout_of(std::uint32_t part) const;

    const PeerConfig& config_;
    const PeerKey self_;
    membership::Voter& voter_;
    Phase phase_ = Phase::kIdle;
    bool is_finished_ = false;
    bool holds_state_ = false;  ///< the trainer has the state `step_`, current or not
    StepIndex step_;
    Digest digest_;
    Samples samples_;
    double samples_per_second_ = 0;
    std::uint64_t upload_ = 0;
    std::uint64_t download_ = 0;

    Term term_;  ///< of the last call or plan
    /// Counts on from a random start: nobody takes what an earlier life has sent for this one's.
    std::uint32_t contribution_id_;
    Encoder frozen_;
    Feedback feedback_;
    std::optional<Reduction> reduction_;
    std::shared_ptr<FloatVector> spare_;  ///< of a former average, for the next one
    wire::Plan plan_;                     ///< the last one seen of this round, also one without us
    bool has_plan_ = false;
    bool has_told_reduced_ = false;
    struct Average {
        SharedFloats values;  ///< null: none
        Digest digest;
        std::uint64_t sum_id = 0;
        Term term;  ///< of the first plan that it was whole in
    };
    Average average_;  ///< the last one that we were ready with
    /// The one before, of an earlier term: its coordinator may have voted for it and told nobody
    /// yet. Back again, it proposes it, and somebody has to have it then.
    Average former_;
    TimePoint planned_at_{};
    std::vector<std::uint32_t> told_refused_;  ///< in this attempt
    std::map<PeerKey, TimePoint> last_chunk_;
    TimePoint stall_at_ = kNever;
    TimePoint last_sent_{};  ///< a chunk
    bool has_more_ = false;
    std::map<std::tuple<std::uint64_t, std::uint32_t, wire::LinkKind>, Frame> sealed_;
};

/// The record that a plan leads to with this average and the state that it was made on.
CommitRecord record_of(const wire::Plan& plan, const Digest& average, const Digest& previous_state,
                       const Head& head);

}  // namespace dedloc::round
