// A host of a simulated peer, as the world keeps it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "peer/hostile/adversary.hpp"
#include "peer/simulation/world.hpp"

namespace dedloc::simulation {

/// What survives the process.
struct World::Disk {
    struct Written {
        std::uint64_t generation = 0;  ///< that the state belongs to
        Checkpoint state;
    };
    bool is_full = false;
    /// Everything that was decided and begun, in order.
    std::vector<std::variant<Decision, SignedGeneration>> ledger;
    std::optional<VoterState> voter;
    std::vector<Written> checkpoints;  ///< the newest few, oldest first
};

struct World::Node {
    KeyPair key;
    Role role;
    Profile profile;
    Endpoint endpoint{};
    Clock clock{};
    Disk disk{};
    std::unique_ptr<Peer> peer{};
    std::unique_ptr<VirtualTrainer> trainer{};
    std::optional<hostile::Misbehaviour> misbehaviour{};
    std::unique_ptr<hostile::Adversary> adversary{};  ///< of a hostile peer's life
    std::uint64_t life = 0;              ///< what was scheduled for an earlier one is void
    std::uint64_t generation = 0;        ///< that the peer was last told of
    std::uint64_t state_generation = 0;  ///< that the trainer's state belongs to
    bool is_alive = false;
    bool is_hung = false;
    bool is_leaving = false;  ///< asked to leave, and not asked back
    bool has_left = false;
    bool is_finished = false;
    std::string refusal{};
    std::vector<Event> inbox{};  ///< of a process that hangs
    TimePoint tick_at = kNever;
    std::uint64_t loads = 0;       ///< of whole states
    std::uint32_t idle_ticks = 0;  ///< in a row, without any time passing in between
    std::optional<KillPoint> kill_point{};
    Exit kill_exit = Exit::kFlushed;
    bool was_killed = false;
    bool has_flip_coming = false;
    PeerKey coordinator{};  ///< as it says
    std::vector<PeerKey> wanted_voters{};
};

}  // namespace dedloc::simulation
