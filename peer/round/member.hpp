// One peer's part in a round, from the call to the applied update.
//
//   idle ──state──► working ──Call──► freezing ──frozen──► frozen ──Plan──► reducing ──average──┐
//                    ▲   ▲                │                  │                 │                ▼
//                    │   └────────────────┴──────────────────┴─────────────────┴───────────── ready
//                    │              Cancel, or the coordinator is lost                          │
//                    └─── state ─── applying ◄──────────────── Commit ──────────────────────────┘
//
// Whoever turns out to be behind goes back to idle, from anywhere.
// A Plan with a higher attempt for the same step starts the reduction again from the frozen
// contribution.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "peer/peer.hpp"
#include "peer/round/outbox.hpp"
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

    Member(const PeerConfig& config, const PeerKey& self) : config_(config), self_(self) {}

    void state_reached(const event::StateReached& event, Outbox& out);
    void progressed(const event::Progressed& event);
    void frozen(const event::ContributionFrozen& event, Outbox& out);

    // From the coordinator; the caller has checked that.
    void called(StepIndex step, const wire::Call& call, Outbox& out);
    void planned(StepIndex step, const wire::Plan& plan, Outbox& out);
    void committed(const CommitRecord& record, const SharedBytes& frame, Outbox& out);
    void cancelled(StepIndex step, const wire::Cancel& cancel, Outbox& out);
    /// The coordinator is gone: its round with it.
    void coordinator_lost(Outbox& out);

    void chunk(const PeerKey& from, StepIndex step, const wire::Chunk& chunk, Outbox& out);

    /// The state is not (or no longer) the swarm's, or we are suspended: stop working on it. Before
    /// the next round a load follows.
    void outdated(Outbox& out);
    /// The run is over: no more work.
    void finish(Outbox& out);

    Phase phase() const { return phase_; }
    /// False without a state and while an update is applied.
    bool has_state() const { return phase_ != Phase::kIdle && phase_ != Phase::kApplying; }
    bool is_in_round() const { return phase_ >= Phase::kFreezing; }
    StepIndex step() const { return step_; }
    const Digest& digest() const { return digest_; }
    Samples samples() const { return samples_; }
    double samples_per_second() const { return samples_per_second_; }

  private:
    void work(Outbox& out);
    void forget_round();
    void join(Outbox& out);
    void send(std::vector<Outgoing> outgoing, Outbox& out);
    void check_complete(Outbox& out);

    const PeerConfig& config_;
    const PeerKey self_;
    Phase phase_ = Phase::kIdle;
    bool is_finished_ = false;
    StepIndex step_;
    Digest digest_;
    Samples samples_;
    double samples_per_second_ = 0;

    std::uint32_t call_attempt_ = 0;
    Contribution frozen_;
    std::optional<Reduction> reduction_;
    Digest average_digest_;
    /// Chunks of an attempt whose plan is still under way. Bounded by two vectors.
    std::deque<std::pair<PeerKey, wire::Chunk>> early_;
    std::uint64_t early_elements_ = 0;
};

}  // namespace dedloc::round
