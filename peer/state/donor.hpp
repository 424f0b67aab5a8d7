// Donor serves whole states and retained averages to peers that catch up.
//
// States     A snapshot is taken when a peer asks for a state, and is kept while a peer fetches it,
//            however many steps pass meanwhile. At most two exist, which bounds memory: a snapshot
//            costs a copy of the state once the trainer has changed it. Every update changes every
//            number, so what a slow peer still has to fetch exists nowhere else. A snapshot is
//            offered together with its certificate, so not before the certificate is known.
// Rounds     The averages of the last RoundRules::kept_averages decided rounds, for peers that are
//            a few steps behind. They are shared with the trainer, not copied. A backbone also
//            keeps earlier ones, packed, for newcomers that have just loaded a state.
// Lists      The digests of a state's leaves travel in its offer, or as an array of their own if
//            there are too many (leaf_list.hpp). So do those of an average.
// Leaves     A leaf leaves its queue only when the link can send it and no round data waits there,
//            so donations never delay a round.
// Allowance  What one peer is given is bounded, however often it asks: 16 states, and another one
//            every 8 minutes; the average of a round twice. An honest peer that cannot follow the
//            swarm rests before (CatchUp).
// Turns      A state is served to one to four peers at once; the others wait in the order of their
//            queries. Each served peer can serve others, so the number of donors grows, and a slow
//            uplink is never shared by so many that each of them times out on every leaf.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "kernels/workers.hpp"
#include "peer/config.hpp"
#include "peer/outbox.hpp"
#include "peer/state/leaf_list.hpp"
#include "peer/state/own.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::state {

/// Answers queries and leaf requests of peers that catch up. The core delivers their messages.
class Donor {
  public:
    /// `rules` and `workers` must outlive this object. Call begin() before anything else.
    /// `offered_leaves` is the largest number of leaves whose digests an offer has; tests lower it.
    Donor(const RoundRules& rules, const kernels::Workers& workers,
          std::size_t offered_leaves = wire::kMaxOfferedLeaves)
        : rules_(rules),
          workers_(workers),
          offered_leaves_(offered_leaves),
          retained_(rules.kept_averages) {}

    /// Enters a generation and forgets everything of any other one.
    void begin(std::uint64_t generation);
    /// Retains averages of so many rounds from now on: those beyond RoundRules::kept_averages
    /// packed (packed_average.hpp). Cost of each round then: a digest and a packing of its average.
    void retain(std::uint32_t rounds) { retained_ = std::max(rounds, rules_.kept_averages); }
    /// Takes the certificate of a state of this generation. Idempotent.
    void certified(TimePoint now, const StateCertificate& certificate, const Own& own, Outbox& out);
    /// Retains a decided round; call it after each commit. A null `average` means that this peer
    /// does not hold it (a pure aggregator, or a decision learnt late); otherwise it has N elements
    /// (DEDLOC_CHECK).
    /// Returns   an average that the caller may reuse: the oldest retained one, or `average` itself
    ///           if nothing is retained; may be null
    SharedFloats keep(const CommitRecord& record, const Certificate& certificate,
                      SharedFloats average);

    /// Takes a StateQuery with the envelope's generation and step. Answers with
    ///
    ///     RoundOffer   if the query has has_state set and the round of `step` is retained
    ///     StateOffer   if the query asks for a state, or no round fits: the state of `step` if a
    ///                  snapshot of it exists, else this peer's present state (after
    ///                  action::TakeSnapshot)
    ///     nothing      if this peer is not ahead or holds no state, or until it is the querier's
    ///                  turn; the query is forgotten two failure timeouts after it arrived
    ///
    /// While two snapshots are being fetched no third is taken, and the newer one is offered.
    /// Queries beyond the retained rounds + 4 in a heartbeat from one peer are ignored.
    void queried(TimePoint now, const PeerKey& from, std::uint64_t generation, StepIndex step,
                 const wire::StateQuery& query, const Own& own, Outbox& out);
    /// Takes every event::SnapshotTaken. Ignores a snapshot that this object did not request or
    /// that is not a state of this history.
    void snapshot_taken(TimePoint now, const event::SnapshotTaken& snapshot, const Own& own,
                        Outbox& out);
    /// The trainer is about to change its state. Drops snapshots that no peer has used for a
    /// failure timeout: it would have to copy the state for them.
    void state_changes(TimePoint now);
    /// Call after event::StateReached: serves peers that asked while an update was being applied.
    void reached(TimePoint now, const Own& own, Outbox& out);

    /// Queues a LeafRequest. Ignores repeated ones, and those beyond 16 outstanding of a peer.
    void requested(TimePoint now, const PeerKey& from, const wire::LeafRequest& request);
    /// Takes the next leaf for `to` off its queue; call it when the link can send one and no round
    /// data waits for the link.
    /// Returns   nothing if no leaf is requested; a leaf without data if this peer no longer holds
    ///           the state or average
    /// Cost      one copy of 256 KiB; a leaf of an average is packed
    std::optional<wire::Leaf> next(TimePoint now, const PeerKey& to);
    /// Whether next(to) returns a leaf.
    bool has_next(const PeerKey& to) const { return queues_.contains(to); }

    /// The link to this peer is lost: drops its queries and requests.
    void lost(const PeerKey& peer);
    /// Sets this peer's upload bandwidth; nullopt: unknown. It limits how many peers fetch a state
    /// at once, so that each gets about two leaves a second.
    void set_upload(std::optional<Bandwidth> upload) { upload_ = upload; }
    /// Time has passed: ends turns, serves waiting peers, and forgets snapshots that have been
    /// unused for two failure timeouts.
    void advance(TimePoint now, const Own& own, Outbox& out);
    /// When advance() is due; kNever if nothing waits for a time.
    TimePoint next_deadline() const;
    /// This peer leaves the swarm: forgets requests and snapshots, keeps rounds and certificates.
    void reset();
    /// DEDLOC_CHECKs what must hold between two events.
    void check_invariants() const;

  private:
    struct Snapshot {
        event::SnapshotTaken state;
        std::optional<StateCertificate> proof;  ///< nothing: not known yet
        TimePoint last_used;
        std::optional<LeafList> list;  ///< the list of state.leaves, if they do not fit an offer

        /// Whether requests for the state's leaves, or for pages of their list, name this root.
        bool is_named(const Digest& root) const {
            return state.digest == root || (list && list->root == root);
        }
    };
    /// A peer that wants a state and has not been offered one.
    struct Waiting {
        TimePoint since;     ///< its first query; decides the order
        TimePoint asked_at;  ///< its last query
        StepIndex step;      ///< the state that it wants
    };
    /// A peer that has been offered a state and may fetch it.
    struct Turn {
        TimePoint since;         ///< the first offer
        TimePoint used_at{};     ///< the last offer, leaf request or leaf
        std::size_t leaves = 0;  ///< number of leaves sent to it
    };
    /// What a peer may still be given of states. It outlives the link.
    struct Allowance {
        std::uint64_t leaves = 0;  ///< at `since`
        TimePoint since;
    };
    /// Counts a peer's queries within a heartbeat.
    struct Asked {
        TimePoint since;
        std::uint32_t count = 0;
    };
    struct Round {
        CommitRecord record;
        Certificate certificate;
        SharedFloats average;          ///< null: only `packed` is left
        std::vector<Digest> leaves;    ///< empty until the round is first offered or packed
        std::vector<Buffer> packed;    ///< data of each wire::Leaf, once packed
        std::optional<LeafList> list;  ///< the list of `leaves`, once offered, if it is needed
        std::map<PeerKey, std::uint64_t> given{};  ///< leaves and pages sent to each peer

        /// Whether requests for the average's leaves, or for pages of their list, name this root.
        bool is_named(const Digest& root) const {
            return record.average == root || (list && list->root == root);
        }
    };

    /// Brings the peer's allowance up to date. A new peer has all of it.
    Allowance& allowance_of(TimePoint now, const PeerKey& peer);
    /// Whether the peer may have this leaf; if so, takes it off the peer's allowance.
    bool may_have(TimePoint now, const PeerKey& peer, const wire::LeafRequest& request);
    /// Counts the query; false: too many from this peer.
    bool may_ask(TimePoint now, const PeerKey& from);
    /// Offers snapshots to waiting peers while fewer than places() peers fetch one. `taken` is the
    /// snapshot that has just arrived; it is offered even if this peer is a step further by now.
    void serve_waiting(TimePoint now, const Own& own, Outbox& out, Snapshot* taken = nullptr);
    /// How many peers may fetch a state at once.
    std::size_t places() const;
    TimePoint end_of_turn(const PeerKey& peer) const;
    void offer(TimePoint now, const PeerKey& to, Snapshot& snapshot, Outbox& out);
    void take(TimePoint now, Outbox& out);
    bool offer_round(const PeerKey& to, StepIndex step, Outbox& out);
    /// The list of these digests if there are too many for an offer.
    std::optional<LeafList> list_if_long(std::span<const Digest> leaves) const;
    /// Computes the leaf digests of a round unless they are known; false: the average is damaged.
    bool digest_round(Round& round) const;
    /// Packs the average, and returns it. Leaves a damaged one as it is.
    SharedFloats pack_round(Round& round) const;
    /// The data of one leaf of a round, as it travels.
    Buffer leaf_of(const Round& round, std::uint32_t leaf) const;
    /// The data of one leaf, or page, of any held snapshot or round; empty: not held.
    Buffer leaf_named(TimePoint now, const wire::LeafRequest& request);
    bool is_of_history(const event::SnapshotTaken& snapshot, const Own& own) const;
    const StateCertificate* proof_of(StepIndex step) const;
    Snapshot* snapshot_at(StepIndex step);
    Snapshot* snapshot_named(const Digest& root);
    /// Whether leaves of the snapshot are queued, or it has been used within `timeout`.
    bool is_busy(const Snapshot& snapshot, TimePoint now, Duration timeout) const;
    /// Whether there is space for one more snapshot; drops an idle one if necessary.
    bool free_snapshot(TimePoint now);

    const RoundRules& rules_;
    const kernels::Workers& workers_;
    const std::size_t offered_leaves_;
    std::uint32_t retained_;  ///< rounds to retain
    std::uint64_t generation_ = 0;
    std::optional<Bandwidth> upload_;               ///< nullopt: unknown
    std::map<StepIndex, StateCertificate> proofs_;  ///< certificates of the last few states
    std::deque<Round> rounds_;                      ///< ascending by step
    std::deque<Snapshot> snapshots_;                ///< oldest first
    std::map<PeerKey, Waiting> waiting_;            ///< peers without an offer
    std::map<PeerKey, Turn> fetching_;              ///< peers that fetch a state
    std::optional<TimePoint> taking_since_;         ///< when the pending snapshot was requested
    std::map<PeerKey, Allowance> allowances_;       ///< peers that may ask for states
    std::map<PeerKey, Asked> asked_;                ///< counts queries
    std::map<PeerKey, std::deque<wire::LeafRequest>> queues_;  ///< none is empty
};

}  // namespace dedloc::state
