// One peer of a swarm: the table of contents of the protocol. A pure state machine: told the time
// and what happened, it answers with actions. No clock, thread, socket or GPU; the same events give
// the same actions.
//
//   membership/links    who is there: handshake, heartbeats, silence
//   round/coordinator   when a round begins, who is in it, when it is committed
//   round/member        one peer's part in a round: freeze, scatter, reduce, gather, apply
//   state/transfer      how a newcomer gets the state
//
// Departures from the paper (DeDLOC, arXiv 2106.10207): one coordinator calls and commits each
// round instead of leaderless matchmaking; sums are made in member order, never arrival order;
// nobody ever steps alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/events.hpp"

namespace dedloc {

/// What all peers of a run agree on. From the run file.
struct RoundRules {
    std::uint64_t elements = 0;  ///< N, of the parameter vector
    Samples target_batch;
    StepIndex last_step;  ///< the run is over when this state is reached

    Duration heartbeat = std::chrono::seconds{1};
    /// Nothing heard for this long: gone.
    Duration silence = std::chrono::seconds{5};
    /// From Call to the last Join: the longest micro-batch that is waited for.
    Duration join_timeout = std::chrono::seconds{60};
    /// From Plan to the last Ready.
    Duration round_timeout = std::chrono::seconds{60};
};

struct PeerConfig {
    RunId run;
    PeerKey coordinator;  ///< the backbone's key; a peer with this key coordinates
    Role role = Role::kTrainer;
    std::string result_name;             ///< BOINC's name of the job; empty outside BOINC
    std::uint16_t listening_port = 0;    ///< 0: cannot be dialled
    double upload_bytes_per_second = 0;  ///< 0: not known
    RoundRules rules;
    std::uint64_t random_seed =
        0;  ///< for nonces and the choice of donors; unpredictable outside tests
    /// Coordinator only: the optimizer's numbers for the update of state `step`.
    std::function<UpdateScalars(StepIndex)> scalars_of;
};

class Peer final {
  public:
    /// Requires rules.elements ≥ 1, and scalars_of if key is the coordinator's.
    Peer(PeerConfig config, const KeyPair& key);
    ~Peer();
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    /// Takes one event, appends what is to be done, in order. `now` never goes backwards
    /// (DEDLOC_CHECK). A peer that holds a state at the start is told so by event::StateReached.
    void handle(TimePoint now, const Event& event, Actions& actions);

    /// When handle() wants an event::Tick at the latest.
    TimePoint next_deadline() const;

    /// DEDLOC_CHECKs what must hold between any two events. Cost: O(peers).
    void check_invariants() const;

  private:
    class Core;
    std::unique_ptr<Core> core_;
};

}  // namespace dedloc
