// What a member gives to others: whole states, and the averages of the last rounds.
//
// States     a snapshot is taken when a peer asks, and stays while one fetches it, whatever steps
//            go on meanwhile; at most two, so memory is bounded. It is offered with its
//            certificate, and not before that is here
// Rounds     the averages of the last decided rounds (RoundRules::kept_averages of them), for peers
//            that are only a few steps behind; shared with the trainer, not copied
// Leaves     are pulled by the link that has room for one, so donating never delays a round
// Turns      a state goes to one to four peers at once and the others wait, in the order in which
//            they asked: who has it gives it on, so a crowd is served in rounds that grow, and no
//            slow uplink is shared by so many that none of them ever gets a leaf in time
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "kernels/workers.hpp"
#include "peer/config.hpp"
#include "peer/outbox.hpp"
#include "peer/state/own.hpp"

namespace dedloc::state {

class Donor {
  public:
    /// The rules must outlive this. Nothing is held; begin() comes first.
    Donor(const RoundRules& rules, const kernels::Workers& workers)
        : rules_(rules), workers_(workers) {}

    /// A generation begins: everything of another one is forgotten.
    void begin(std::uint64_t generation);
    /// The proof of a state of this generation. Idempotent.
    void certified(TimePoint now, const StateCertificate& certificate, const Own& own, Outbox& out);
    /// After each commit. `average` null: not held (a pure aggregator, or a decision learnt late).
    /// Requires N elements otherwise (DEDLOC_CHECK). An average that is retained no more, if any.
    SharedFloats keep(const CommitRecord& record, const Certificate& certificate,
                      SharedFloats average);

    /// StateQuery with the envelope's generation and step. Answers with
    ///
    ///     RoundOffer   has_state, and the round of `step` is retained
    ///     StateOffer   a whole state is wanted, or no round fits: the state of `step` if a
    ///                  snapshot of it is held, else the present one (action::TakeSnapshot first)
    ///     nothing      the asker is where we are, or we hold nothing; or its turn will come, if it
    ///                  still asks then
    ///
    /// While two snapshots are being fetched no third is taken: the newer one is offered. Within
    /// a heartbeat a peer gets no more answers than somebody who catches up can need.
    void queried(TimePoint now, const PeerKey& from, std::uint64_t generation, StepIndex step,
                 const wire::StateQuery& query, const Own& own, Outbox& out);
    /// event::SnapshotTaken. One that nobody here waits for, or that is not a state of this
    /// history, is let go.
    void snapshot_taken(TimePoint now, const event::SnapshotTaken& snapshot, const Own& own,
                        Outbox& out);
    /// After event::StateReached: who asked while an update was applied is served now.
    void reached(TimePoint now, const Own& own, Outbox& out);

    /// Queues; beyond 16 outstanding ones of a peer, and repeated ones, it is ignored.
    void requested(TimePoint now, const PeerKey& from, const wire::LeafRequest& request);
    /// The next leaf for `to`, when its link has room and no round data waits. Empty data: its
    /// state or average is not held any more. Nothing: nothing is asked for.
    /// Cost: one copy of 256 KiB.
    std::optional<wire::Leaf> next(TimePoint now, const PeerKey& to);
    /// Whether next(to) has something.
    bool has_next(const PeerKey& to) const { return queues_.contains(to); }

    void lost(const PeerKey& peer);
    /// Of ours, in bytes per second; 0: not known. So many fetch at once that each gets two leaves
    /// a second.
    void set_upload(std::uint64_t bytes_per_second) { upload_ = bytes_per_second; }
    /// Forgets snapshots that nobody has used for twice the silence limit, and serves who waits
    /// when others have what they wanted.
    void advance(TimePoint now, const Own& own, Outbox& out);
    TimePoint next_deadline() const;
    /// Out of the swarm: forgets requests and snapshots, keeps rounds and records.
    void reset();
    void check_invariants() const;

  private:
    struct Snapshot {
        event::SnapshotTaken state;
        std::optional<StateCertificate> proof;  ///< nothing: not here yet
        TimePoint last_used;
    };
    /// Who wants a state and has not been offered one.
    struct Waiting {
        TimePoint since;
        TimePoint asked_at;
        StepIndex step;
    };
    struct Turn {
        TimePoint since;
        TimePoint used_at{};     ///< it asked for a leaf or was sent one
        std::size_t leaves = 0;  ///< that it was sent
    };
    struct Asked {
        TimePoint since;
        std::uint32_t count = 0;
    };
    struct Round {
        CommitRecord record;
        Certificate certificate;
        SharedFloats average;
        std::vector<Digest> leaves;  ///< empty until somebody asks
    };

    /// Counts the query; false: too many from this peer.
    bool may_ask(TimePoint now, const PeerKey& from);
    /// `taken`: just now, of a state that may be a step old by the time it is here.
    void serve_waiting(TimePoint now, const Own& own, Outbox& out, Snapshot* taken = nullptr);
    std::size_t places() const;
    TimePoint end_of_turn(const PeerKey& peer) const;
    void offer(TimePoint now, const PeerKey& to, Snapshot& snapshot, Outbox& out);
    void take(TimePoint now, Outbox& out);
    bool offer_round(const PeerKey& to, StepIndex step, Outbox& out);
    bool is_of_history(const event::SnapshotTaken& snapshot, const Own& own) const;
    const StateCertificate* proof_of(StepIndex step) const;
    Snapshot* snapshot_at(StepIndex step);
    Snapshot* snapshot_named(const Digest& root);
    /// Somebody fetches it, or may begin to.
    bool is_busy(const Snapshot& snapshot, TimePoint now, Duration timeout) const;
    /// A place for one more, made by letting an unused one go.
    bool free_snapshot(TimePoint now);
    std::span<const std::byte> bytes_named(TimePoint now, const Digest& root);

    const RoundRules& rules_;
    const kernels::Workers& workers_;
    std::uint64_t generation_ = 0;
    std::uint64_t upload_ = 0;
    std::map<StepIndex, StateCertificate> proofs_;  ///< the last few
    std::deque<Round> rounds_;                      ///< ascending
    std::deque<Snapshot> snapshots_;                ///< oldest first
    std::map<PeerKey, Waiting> waiting_;
    std::map<PeerKey, Turn> fetching_;                         ///< states
    std::optional<TimePoint> taking_since_;                    ///< a snapshot is under way
    std::map<PeerKey, Asked> asked_;                           ///< queries of the last heartbeat
    std::map<PeerKey, std::deque<wire::LeafRequest>> queues_;  ///< none is empty
};

}  // namespace dedloc::state
