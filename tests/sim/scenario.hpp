// What the scenarios share: which seeds to run, and how to see a failure again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "peer/simulation/world.hpp"

namespace dedloc::sim {

/// Seeds 1 to `count`, or DEDLOC_SEED alone. Of these only the share of this process:
/// DEDLOC_SHARD=2/3 is the second of three.
std::vector<std::uint64_t> seeds(std::uint64_t count);

/// The same, but up to DEDLOC_SEEDS if that is more.
std::vector<std::uint64_t> seeds_or_more(std::uint64_t count);

/// The command that runs the test case at hand with this seed.
std::string replay_command(std::uint64_t seed);

/// A world's options with the replay command filled in. With DEDLOC_TRACE set, a failure prints all
/// that happened.
simulation::WorldOptions options_for(std::uint64_t seed, const RoundRules& rules);

/// A small run: few seconds a step. Signatures are most of the work, and a chunk has one: the
/// vector is ten chunks, so that each of four reducers has some and no run has many.
RoundRules quick_rules(std::uint64_t steps, std::uint64_t elements = 160);

/// While it lives, a peer's failed check prints the world before the process ends.
class Watch {
  public:
    explicit Watch(const simulation::World& world);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
};

/// Runs until `is_done`; if that is not within `limit`, prints what is known of the world and
/// fails.
void require_within(simulation::World& world, Duration limit, const std::string& what,
                    const std::function<bool()>& is_done);

/// All that run and receive hold state `step` within `limit`.
void require_all_at(simulation::World& world, StepIndex step, Duration limit);

/// Records of steps 0 to `steps` − 1 and no others, and what the backbone saw of them: every
/// member that reported had its digest.
void require_clean_history(const simulation::World& world, std::uint64_t steps);

/// All who hold the newest state hold the same, and one machine alone gets to it as well.
void require_equal_to_one_machine(const simulation::World& world);

}  // namespace dedloc::sim
