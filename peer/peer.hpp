// One peer of a swarm, and the table of contents of the protocol. A Peer is a pure state machine:
// it is told the time and what happened, and answers with actions. It has no clock, thread, socket
// or GPU; the same events give the same actions.
//
//   core/                 routes events and messages to the parts below
//   membership/links      which peers are connected: handshake, heartbeats, failure detection
//   membership/voter      the head of the history; what a voter has promised and accepted
//   membership/election   which voter coordinates
//   progress/             when the target batch will be reached; how fast the links are
//   planning/             which member averages how much
//   round/coordinator     calls a round, plans it, amends the plan, proposes the record
//   round/member          one peer's part in a round: freeze, scatter, reduce, gather, apply
//   state/                how a peer that is new or behind gets the state
//   ledger/               all decisions in provable form; conservation of samples
//
// README.md has the vocabulary, the message table, the argument why no swarm splits, and the
// departures from the paper.
#pragma once

#include <memory>

#include "kernels/workers.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/config.hpp"
#include "peer/events.hpp"

namespace dedloc {

/// One member of one run. Not thread-safe: one driver makes all calls.
class Peer final {
  public:
    /// `workers` compute digests of averages: they affect speed only, and must outlive the peer.
    /// Requires rules without a fault and config.scalars_of (DEDLOC_CHECK).
    Peer(PeerConfig config, const KeyPair& key, const kernels::Workers& workers);
    ~Peer();
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    /// Handles one event and appends the resulting actions, in order. `now` never goes backwards
    /// (DEDLOC_CHECK). If the trainer holds a state at the start, event::StateReached says so.
    void handle(TimePoint now, const Event& event, Actions& actions);

    /// Computes a small part of the average's digest ahead of the event that needs it. For a driver
    /// that is otherwise idle; produces no actions. False: nothing more can be done yet.
    /// Cost: below a millisecond.
    bool work_ahead();
    /// Bytes of the present round's average that are digested; fewer than before: another average.
    /// A simulator charges processor time for them.
    std::uint64_t digested_bytes() const;
    /// When handle() needs its next event::Tick at the latest; kNever: no deadline.
    TimePoint next_deadline() const;

    /// The rounding error that the next contribution will compensate; null: none, as with fp32. For
    /// tests and diagnostics only.
    SharedFloats residual() const;

    /// Checks what must hold between any two events (DEDLOC_CHECK). Cost: O(peers).
    void check_invariants() const;

  private:
    class Core;
    std::unique_ptr<Core> core_;
};

}  // namespace dedloc
