// Common parts of the scenarios: which seeds to run, how to replay a failure, common checks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/simulation/test_world.hpp"

namespace dedloc::sim {

/// Seeds 1 to `count`, or only DEDLOC_SEED if it is set. DEDLOC_SHARD=2/3 selects the second of
/// three processes' share of the seeds.
std::vector<std::uint64_t> seeds(std::uint64_t count);

/// Like seeds(), but up to DEDLOC_SEEDS if that is more.
std::vector<std::uint64_t> seeds_or_more(std::uint64_t count);

/// The argument with which a shell makes Catch run the test case of this name alone: quoted for the
/// shell, and escaped where Catch gives a character a meaning, such as "or" to a comma.
std::string test_argument(const std::string& name);

/// The command that repeats the present test case with this seed.
std::string replay_command(std::uint64_t seed);

/// A world's options with the replay command. If DEDLOC_TRACE is set, a failure prints the whole
/// trace.
simulation::TestWorldOptions options_for(std::uint64_t seed, const RoundRules& rules);

/// Rules of a small run with a few seconds per step. Each message takes its time, so the vector has
/// only ten chunks: enough for four reducers.
RoundRules quick_rules(std::uint64_t steps, std::uint64_t elements = 160);

/// A codec for this seed: each is as likely as the others.
Codec drawn_codec(std::uint64_t seed);

/// While an object of this class exists, a failed DEDLOC_CHECK prints the world and aborts. If
/// DEDLOC_HASHES is set, its end prints the world's seed and the hash of its trace: two builds that
/// print the same do the same.
class Watch {
  public:
    explicit Watch(const simulation::TestWorld& world);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
};

/// Runs until `is_done()` holds. If that takes longer than `limit`, prints the world and fails.
void require_within(simulation::TestWorld& world, Duration limit, const std::string& what,
                    const std::function<bool()>& is_done);

/// Requires that all honest peers that are up and receive hold state `step` within `limit`.
void require_all_at(simulation::TestWorld& world, StepIndex step, Duration limit);

/// Requires records of steps 0 to `steps` − 1 and no others, and that every member that reported a
/// state to a backbone had the right digest.
void require_clean_history(const simulation::TestWorld& world, std::uint64_t steps);

/// Called with a round, one of its peers and that peer's contribution.
using ContributionVisitor = std::function<void(const simulation::Round& round, const PeerKey& peer,
                                               const simulation::Frozen& frozen)>;

/// Calls `visit` for every contribution that a record counts, oldest round first.
void visit_contributions(const simulation::TestWorld& world, const ContributionVisitor& visit);

/// Requires that each peer's counted samples follow one another without a gap: all that it has
/// computed up to the last one counts, each sample once.
void require_nothing_lost(const simulation::TestWorld& world);

/// Requires `steps` records, each on the state that one machine computes alone from the batches
/// before it, and require_equal_to_one_machine().
void require_every_state_equal(const simulation::TestWorld& world, std::uint64_t steps);

/// Requires that all peers with the newest state hold the state that one machine computes alone
/// from the same batches.
void require_equal_to_one_machine(const simulation::TestWorld& world);

}  // namespace dedloc::sim
