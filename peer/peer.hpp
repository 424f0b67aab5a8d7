// One peer of a swarm: the table of contents of the protocol. A pure state machine: told the time
// and what happened, it answers with actions. No clock, thread, socket or GPU; the same events give
// the same actions.
//
//   membership/links      who is there: handshake, heartbeats, silence
//   membership/voter      where the history stands; what a voter has promised and voted for
//   membership/election   which voter coordinates
//   progress/             when will the target batch be reached; how fast are the links
//   planning/             who averages how much
//   round/coordinator     when a round begins, who is in it, amendments, the decision
//   round/member          one peer's part in a round: freeze, scatter, reduce, gather, apply
//   state/                how a newcomer gets the state, how one who is behind catches up
//   ledger/               all decisions, and that samples are conserved
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

class Peer final {
  public:
    /// `workers` digest averages that others ask for; they change no bit of anything, and outlive
    /// the peer.
    /// Requires rules without a fault and scalars_of (DEDLOC_CHECK).
    Peer(PeerConfig config, const KeyPair& key, const kernels::Workers& workers);
    ~Peer();
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    /// Takes one event, appends what is to be done, in order. `now` never goes backwards
    /// (DEDLOC_CHECK). A peer that holds a state at the start is told so by event::StateReached.
    void handle(TimePoint now, const Event& event, Actions& actions);

    /// Does some of what an event that is to come will ask for, for who has nothing else to do:
    /// what others wait for goes first. No action follows from it. False: no more can be done so
    /// far. Cost: below a millisecond.
    bool work_ahead();
    /// When handle() wants an event::Tick at the latest.
    TimePoint next_deadline() const;

    /// What rounding has taken from this peer's contributions and its next one makes up for (fp16);
    /// null: nothing. For onlookers.
    SharedFloats residual() const;

    /// DEDLOC_CHECKs what must hold between any two events. Cost: O(peers).
    void check_invariants() const;

  private:
    class Core;
    std::unique_ptr<Core> core_;
};

}  // namespace dedloc
