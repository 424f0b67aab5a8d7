// How a newcomer gets the state: any member with the coordinator's digest donates; chunks are
// pulled through a window; the whole is checked against the digest before it is used.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/membership/links.hpp"
#include "peer/peer.hpp"
#include "peer/round/member.hpp"
#include "peer/round/outbox.hpp"

namespace dedloc::state {

/// Serves snapshots. Keeps at most two, and none that nobody asked for lately.
class Donor {
  public:
    explicit Donor(const PeerConfig& config) : config_(config) {}

    void queried(const PeerKey& from, const round::Member& own, round::Outbox& out);
    void snapshot_taken(TimePoint now, const event::SnapshotTaken& snapshot, round::Outbox& out);
    void requested(TimePoint now, const PeerKey& from, StepIndex step,
                   const wire::StateRequest& request, round::Outbox& out);
    void lost(const PeerKey& peer) { waiting_.erase(peer); }
    /// Forgets snapshots that nobody has asked for within twice the silence limit.
    void tick(TimePoint now);
    void reset();
    TimePoint next_deadline() const;

  private:
    struct Snapshot {
        event::SnapshotTaken state;
        TimePoint last_used;
    };
    void offer(const PeerKey& to, const event::SnapshotTaken& state, round::Outbox& out) const;

    const PeerConfig& config_;
    std::deque<Snapshot> snapshots_;  ///< oldest first
    std::set<PeerKey> waiting_;       ///< asked while a snapshot was being taken
};

/// Fetches the coordinator's state from a donor chosen at random; another one if that one fails.
class Newcomer {
  public:
    Newcomer(const PeerConfig& config, const membership::Links& links, Random random)
        : config_(config), links_(links), random_(random) {}

    /// What the coordinator says its state is: offers are checked against the last of these.
    void told(StepIndex step, const Digest& digest);
    /// Begins, unless a fetch is under way.
    void begin(TimePoint now, round::Outbox& out);
    void offered(TimePoint now, const PeerKey& from, StepIndex step, const wire::StateOffer& offer,
                 round::Outbox& out);
    void received(TimePoint now, const PeerKey& from, StepIndex step, const wire::StateChunk& chunk,
                  round::Outbox& out);
    /// The trainer has taken or refused what was fetched.
    void settled() { fetch_.reset(); }
    void lost(const PeerKey& peer);
    void tick(TimePoint now, round::Outbox& out);
    void reset() { fetch_.reset(); }
    bool is_active() const { return fetch_.has_value(); }
    TimePoint next_deadline() const { return fetch_ ? fetch_->deadline : kNever; }

  private:
    struct Fetch {
        PeerKey donor;
        TimePoint deadline;
        bool is_loading = false;  ///< complete, and with the trainer
        StepIndex step;
        Digest digest;
        std::shared_ptr<Buffer> bytes;
        std::vector<bool> has_chunk;
        std::uint64_t next_offset = 0;
        std::uint64_t missing = 0;
    };
    void request_next(round::Outbox& out);

    const PeerConfig& config_;
    const membership::Links& links_;
    Random random_;
    std::map<StepIndex, Digest> told_;  ///< the last few
    std::optional<Fetch> fetch_;
};

}  // namespace dedloc::state
