// What a peer is given when it is made: the rules of its run, its part in it, and what a voter
// remembers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/wire/types.hpp"

namespace dedloc {

/// What all peers of a run agree on. From the run file.
struct RoundRules {
    std::uint64_t elements = 0;  ///< N, of the parameter vector
    Samples target_batch;
    StepIndex last_step;  ///< the run is over when this state is reached
    Codec codec = Codec::kFp32;

    Duration heartbeat = std::chrono::seconds{1};
    /// Nothing heard for this long: gone.
    Duration failure_timeout = std::chrono::seconds{5};
    /// Between two candidacies of one peer.
    Duration election_pause = std::chrono::seconds{1};
    /// From Call to the last Join: the longest micro-batch that is waited for.
    Duration join_timeout = std::chrono::seconds{60};
    /// Bulk that was promised, and nothing of it for this long: the coordinator is told.
    Duration stall_timeout = std::chrono::seconds{5};
    /// From Plan to the last Ready, or this many times the planner's time if that is longer.
    Duration round_timeout = std::chrono::seconds{60};
    double round_timeout_factor = 8;
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

}  // namespace dedloc
