// The world's record of one host: its disk, clock, peer and trainer.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "peer/simulation/world.hpp"

namespace dedloc::simulation {

/// What survives the end of the process.
struct World::Disk {
    /// A checkpoint on the disk.
    struct Written {
        std::uint64_t generation = 0;  ///< the generation that the state belongs to
        Checkpoint state;
    };
    bool is_full = false;  ///< no checkpoint is written any more
    /// All decisions and generations, in order.
    std::vector<std::variant<Decision, SignedGeneration>> ledger;
    std::optional<StepIndex> settled;  ///< step of the last action::Settled of the generation
    std::optional<VoterState> voter;   ///< a voter's memory: promises and votes
    std::optional<SignedPause> pause;  ///< the last action::PauseChanged
    SharedMixture mixture;             ///< the last action::MixtureChanged
    std::vector<Written> checkpoints;  ///< the newest three, oldest first
};

/// One host.
struct World::Node {
    // The host, which survives its process.
    KeyPair key;
    Role role;
    Profile profile;
    Endpoint endpoint{};
    Clock clock{};
    Disk disk{};
    std::uint8_t added_sources = 0;  ///< its job's: PeerConfig::added_sources

    // Its process, and what the world has in store for it.
    std::unique_ptr<Peer> peer{};               ///< null before the first start
    std::unique_ptr<VirtualTrainer> trainer{};  ///< null before the first start
    std::uint64_t life = 0;                ///< number of starts; calls for an earlier life are void
    std::uint64_t generation = 0;          ///< the generation that the peer was last told of
    std::uint64_t state_generation = 0;    ///< the generation that the trainer's state belongs to
    bool is_alive = false;                 ///< the process runs
    bool is_hung = false;                  ///< the process hangs: it neither reads nor writes
    bool is_leaving = false;               ///< asked to leave, and not asked to return
    bool is_finished = false;              ///< action::Finished
    bool is_busy = false;                  ///< its thread waits for the disk, or digests
    std::deque<Event> inbox{};             ///< events that wait while the process hangs or is busy
    Actions actions{};                     ///< the peer's answer to its last event
    std::size_t performed = 0;             ///< number of these actions that are done
    bool is_written = false;               ///< what the next one has to write is on the disk
    std::uint64_t digested_bytes = 0;      ///< Peer::digested_bytes() that have taken their time
    TimePoint tick_at = kNever;            ///< time of the only valid Tick in the timeline
    std::uint32_t idle_ticks = 0;          ///< ticks in a row that left the deadline in the past
    std::uint64_t pause_count = 0;         ///< the last action::PauseChanged of this life
    SharedMixture mixture{};               ///< likewise action::MixtureChanged
    std::vector<PeerKey> wanted_voters{};  ///< for event::VotersWanted at each start
    bool is_awaited = true;                ///< World::are_all_at() waits for it
};

}  // namespace dedloc::simulation
