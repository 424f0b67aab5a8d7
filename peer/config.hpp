// What a peer is given when it is constructed: the rules of its run, its own role and addresses,
// and what its host has kept from an earlier process.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/wire/mixture.hpp"
#include "peer/wire/types.hpp"

namespace dedloc {

/// The limits and timeouts that all peers of a run share. The first five come from the run file;
/// the others keep these defaults outside tests.
struct RoundRules {
    std::uint64_t elements = 0;  ///< N, the length of the parameter vector
    Samples target_batch;        ///< a round is called once peers have this many samples together
    StepIndex last_step;         ///< the run is over when this state is reached
    Codec codec = Codec::kFp32;  ///< how contributions and averages travel
    /// Trainers compute for the next round while a round is on its way (round/overlap.md).
    bool overlaps = false;
    /// The coordinator chooses the trainers of each round (round/turns.md). False: every
    /// trainer is called to every round.
    bool chooses_trainers = true;
    /// The coordinator probes links for more than they have carried (round/link_probe.hpp).
    bool probes_links = true;
    /// Vectors of N floats in a state: the parameters and the optimizer's moments.
    std::uint32_t state_vectors = 3;

    /// Time between two heartbeats to a peer that watches for failures.
    Duration heartbeat = std::chrono::seconds{1};
    /// A watched peer that sends nothing for this long counts as failed. At least two heartbeats.
    Duration failure_timeout = std::chrono::seconds{5};
    /// A candidate waits this long, plus a random time of up to the same length, before it stands
    /// again. Each connected voter of higher priority gets one such pause to take over first.
    Duration election_pause = std::chrono::seconds{1};
    /// Longest time from Call to the last Join: a member that has not finished its micro-batch by
    /// then is left out of the round.
    Duration join_timeout = std::chrono::seconds{60};
    /// A member that expects chunks complains to the coordinator (Stalled) after this long without
    /// one, plus a multiple of the pause that the plan puts between chunks.
    Duration stall_timeout = std::chrono::seconds{5};
    /// Longest time from Plan to the last Ready, or `round_timeout_factor` times the duration that
    /// the planner expects, whichever is longer.
    Duration round_timeout = std::chrono::seconds{60};
    double round_timeout_factor = 8;
    /// Training speed above which a trainer's claims are refused, if its ticket names no limit.
    std::uint64_t max_samples_per_second = 100'000;
    /// Longest time that a leaving peer takes to finish its sends (event::LeaveRequested).
    Duration leave_limit = std::chrono::milliseconds{900};
    /// Bytes of bulk frames that may be queued at one link: enough to keep the link busy, few
    /// enough to stay responsive. At least the largest bulk frame.
    std::uint64_t window_bytes = 768 * 1024;
    /// Bytes of slices that a reducer keeps of chunks that it has averaged, in case that the round
    /// goes on with other contributors. It frees more at once and then asks for them again.
    std::uint64_t kept_slice_bytes = std::uint64_t{256} << 20;
    /// How many decided averages a peer keeps for peers that are a few rounds behind; each has N
    /// floats.
    std::uint32_t kept_averages = 2;

    /// Longest time from Plan to the last Ready of a round for which the planner expects this time.
    Duration longest_round(Duration expected) const {
        const auto limit = std::chrono::duration_cast<Duration>(expected * round_timeout_factor);
        return std::max(round_timeout, limit);
    }
    /// How long the coordinator waits: if the planner knows links, members complain of the slowest
    /// ones after longest_round(), and the coordinator hears them first.
    Duration coordinator_timeout(Duration expected) const {
        const bool is_known = expected > Duration{};
        return longest_round(expected) + (is_known ? stall_timeout : Duration{});
    }
    /// Bytes of a whole state: parameters and the optimizer's moments.
    std::uint64_t state_bytes() const { return state_vectors * sizeof(float) * elements; }
};

/// What is wrong with the rules: a sentence that begins with the name of the field. Empty if the
/// rules are sound.
std::optional<std::string> fault_of(const RoundRules& rules);

/// Everything that a Peer is constructed with, apart from its key.
struct PeerConfig {
    RunId run;          ///< digest of the run file
    PeerKey project{};  ///< the project's public key, which signs generations
    PeerKey backbone;   ///< the only voter of generation 0
    /// The state at step 0 of generation 0, if the run file names it: no other is loaded there.
    std::optional<Digest> initial_state{};
    Role role = Role::kTrainer;           ///< what this peer does in the swarm
    bool receives = true;                 ///< false: it only reduces and holds no state
    std::string result_name;              ///< BOINC's name of the job; empty outside BOINC
    std::uint16_t listening_port = 0;     ///< 0: this peer cannot be dialled
    std::optional<Bandwidth> upload{};    ///< initial estimate; nullopt: unknown
    std::optional<Bandwidth> download{};  ///< initial estimate; nullopt: unknown
    /// True: transfers of each round correct both estimates. False: they are declared and final.
    bool measures_bandwidth = true;
    RoundRules rules;  ///< must be without a fault (fault_of)
    /// Seed of all random choices: nonces, donors, contribution ids, election retries.
    /// Unpredictable outside tests.
    std::uint64_t random_seed = 0;
    /// The optimizer's scalars for the update of state `step`. Must be set: any voter may have to
    /// coordinate, and the coordinator's scalars go into the record.
    std::function<UpdateScalars(StepIndex)> scalars_of;

    /// Backbone only: its host holds the project's key and answers action::GenerationWanted.
    bool may_begin_generations = false;

    // What a backbone's host has kept from earlier processes. Empty: the run has not begun.
    std::optional<SignedGeneration> generation{};  ///< the last one begun; empty: generation 0
    std::optional<Decision> last_decision{};       ///< the last action::Committed of `generation`
    std::optional<StepIndex> last_settled{};       ///< step of the last action::Settled in it
    /// The last action::Voted, or first_memory(). Empty: this peer never votes.
    std::optional<VoterState> voter{};
    /// The last action::PauseChanged. Empty: the run was never paused.
    std::optional<SignedPause> pause{};
    /// Sources of the run file. Each change of the mixture has a weight for each of them.
    std::size_t sources = 0;
    /// Those of this peer's job that the run file lacks: Join::added.
    std::uint8_t added_sources = 0;
    /// The last action::MixtureChanged. Null: the mixture of the run's sources was never changed.
    SharedMixture mixture{};
};

/// Whether a run with this SignedPause::count is paused.
constexpr bool is_paused_at(std::uint64_t pause_count) {
    return pause_count % 2 == 1;
}

/// The memory of a key that has never voted. `is_first_voter` is true for the run's own backbone at
/// the beginning of the run: it may vote at once. Any other key votes only after its appointment in
/// a generation above `generation`.
VoterState first_memory(std::uint64_t generation, bool is_first_voter);

}  // namespace dedloc
