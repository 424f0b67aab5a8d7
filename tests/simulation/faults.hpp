// Random faults. A scenario is a fleet, a mix of faults, a number of steps and a seed.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "peer/base/random.hpp"
#include "tests/simulation/test_world.hpp"

namespace dedloc::simulation {

/// The rate of each kind of fault, in events per minute over the whole swarm.
struct FaultMix {
    double crashes = 0;           ///< a trainer or aggregator dies; a third restart without memory
    double backbone_crashes = 0;  ///< its disk survives; its model state may be some steps old
    double point_kills = 0;       ///< any host dies at a named point of its present round
    double hangs = 0;             ///< a process hangs
    double suspensions = 0;       ///< a host is suspended and resumed
    double cuts = 0;              ///< a link is cut, and both ends are told
    double silent_cuts = 0;       ///< a link is cut, and neither end is told
    double partitions = 0;        ///< a random half is cut off from the other half
    double poisons = 0;           ///< a gradient that is not finite
    double bit_flips = 0;         ///< in parameters; no other fault until the state is repaired
    double clock_jumps = 0;       ///< a clock jumps forward
    double full_disks = 0;        ///< the backbone's disk is full; its next write kills it

    // The following are drawn and scheduled from a separate random stream, so that their rates do
    // not change the faults above.
    double one_way_cuts = 0;  ///< frames from one host to another are lost for a while
    double rate_changes = 0;  ///< a host's bandwidth changes, by factors from 0.02 to 2
    /// A host, which may be the backbone, is suspended, hangs or is dead for up to `longest_pause`.
    /// At most one such pause at a time.
    double long_pauses = 0;

    double corruption = 0;      ///< probability that a byte of a frame is changed
    DirectoryFaults directory;  ///< faults of the directory's answers

    Duration longest_absence = std::chrono::seconds{20};  ///< limit for dead, suspended or cut off
    Duration longest_hang = std::chrono::seconds{15};     ///< limit for `hangs`
    Duration longest_jump = std::chrono::seconds{4};      ///< limit for `clock_jumps`
    Duration longest_pause = std::chrono::hours{2};       ///< limit for `long_pauses`
    /// The longest time from the last fault until its effect ends.
    Duration recovery() const { return long_pauses > 0 ? longest_pause : longest_absence; }

    /// Typical faults of a bad evening on home links.
    static FaultMix ordinary();
    /// Far more faults than any real swarm has.
    static FaultMix rough();
    /// A random selection of rough()'s faults, so that every seed tries another mix.
    static FaultMix drawn(Random& random);
};

/// Causes the faults of a mix in a world and ends their effects: after `duration` and the mix's
/// recovery() every host runs and can reach all others.
class Faults {
  public:
    /// `world` must outlive this object, which must outlive the run.
    Faults(TestWorld& world, const FaultMix& mix, Random random);
    /// Schedules faults for `duration` from now on.
    void run(Duration duration);

    /// Number of faults so far.
    std::uint64_t count() const { return count_; }

  private:
    struct Kind {
        double rate;
        std::function<void()> happen;
    };
    /// A sequence of faults with its own random numbers.
    struct Chain {
        Random random;
        std::vector<Kind> kinds{};
        double rate = 0;  ///< sum over all kinds

        void add(double kind_rate, std::function<void()> happen);
        Duration up_to(Duration max);
        TestWorld::Id any_of(std::size_t hosts) {
            return static_cast<TestWorld::Id>(random.below(hosts));
        }
    };

    void next(Chain& chain);
    bool is_anybody_damaged() const;
    void calm_down();
    TestWorld::Id any_host();       ///< a random host
    TestWorld::Id any_but_first();  ///< a random host except host 0, unless host 0 is the only one
    void crash(TestWorld::Id id);
    void bring_back(TestWorld::Id id, Chain& chain);
    void kill_at_point();
    void hang();
    void suspend();
    void part();
    void cut_one_way();
    void change_rate();
    void pause_long();

    TestWorld& world_;
    const FaultMix mix_;
    Chain usual_;
    Chain apart_;  ///< the faults with a separate random stream
    bool is_pausing_ = false;
    TimePoint end_;
    std::uint64_t count_ = 0;
};

}  // namespace dedloc::simulation
