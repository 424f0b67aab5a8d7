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

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "kernels/workers.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/events.hpp"

namespace dedloc {

/// What all peers of a run agree on. From the run file.
struct RoundRules {
    std::uint64_t elements = 0;  ///< N, of the parameter vector
    Samples target_batch;
    StepIndex last_step;  ///< the run is over when this state is reached
    Codec codec = Codec::kFp32;

    Duration heartbeat = std::chrono::seconds{1};
    /// Nothing heard for this long: gone.
    Duration silence = std::chrono::seconds{5};
    /// Between two candidacies of one peer.
    Duration election_pause = std::chrono::seconds{1};
    /// From Call to the last Join: the longest micro-batch that is waited for.
    Duration join_timeout = std::chrono::seconds{60};
    /// Bulk that was promised, and nothing of it for this long: the coordinator is told.
    Duration stall_timeout = std::chrono::seconds{5};
    /// From Plan to the last Ready, or this many times the planner's time if that is longer.
    Duration round_timeout = std::chrono::seconds{60};
    double round_patience = 8;
    /// The most that a trainer computes whose ticket names no figure: claims beyond it are refused.
    std::uint64_t max_samples_per_second = 100'000;
    /// What may be finished after event::LeaveRequested.
    Duration leave_limit = std::chrono::milliseconds{900};
    /// Bulk queued at one link: enough to keep it busy, little enough to stay responsive. At least
    /// the largest frame of bulk.
    std::uint64_t window_bytes = 768 * 1024;
    /// Averages kept for those who are a few rounds behind, in vectors.
    std::uint32_t kept_averages = 2;

    /// Parameters and both moments.
    std::uint64_t state_bytes() const { return 3 * sizeof(float) * elements; }
};

/// What is wrong with the rules, as a sentence that names the field; nothing if they are sound.
std::optional<std::string> fault_of(const RoundRules& rules);

struct PeerConfig {
    RunId run;
    PeerKey project{};  ///< signs generations
    PeerKey backbone;   ///< the only voter of generation 0
    Role role = Role::kTrainer;
    bool receives = true;                         ///< false: reduces only, holds no state
    std::string result_name;                      ///< BOINC's name of the job; empty outside BOINC
    std::uint16_t listening_port = 0;             ///< 0: cannot be dialled
    std::uint64_t upload_bytes_per_second = 0;    ///< a first guess; 0: not known
    std::uint64_t download_bytes_per_second = 0;  ///< a first guess; 0: not known
    bool measures_bandwidth = true;               ///< false: both are more than a guess
    RoundRules rules;
    std::uint64_t random_seed =
        0;  ///< for nonces and the choice of donors; unpredictable outside tests
    /// The optimizer's numbers for the update of state `step`; the coordinator's count.
    std::function<UpdateScalars(StepIndex)> scalars_of;

    /// Backbone only: its host holds the project's key and answers action::GenerationWanted.
    bool may_begin_generations = false;
    // What a backbone's host has kept; nothing: the run has not begun.
    std::optional<SignedGeneration> generation{};  ///< the last one begun, if any
    std::optional<Decision> last_decision{};  ///< the last action::Committed of that generation
    /// The last action::Voted, or first_memory(). Nothing: this peer never votes.
    std::optional<VoterState> voter{};
};

/// The memory of a voter that has never voted: the run's own backbone at the run's beginning, or a
/// key that is made to be appointed in a later generation than `generation`.
VoterState first_memory(std::uint64_t generation, bool is_first_voter);

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
