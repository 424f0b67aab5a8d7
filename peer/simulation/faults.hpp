// What goes wrong by chance. A scenario is a fleet, a mix of faults, a number of steps and a seed.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/simulation/world.hpp"

namespace dedloc::simulation {

/// One knob a fault. Rates are events a minute over the whole swarm.
struct FaultMix {
    double crashes = 0;           ///< of a trainer or aggregator; half of them lose all memory
    double backbone_crashes = 0;  ///< its disk survives, its model state may be some steps old
    double point_kills = 0;       ///< of anybody, at a named point of the round at hand
    double hangs = 0;
    double suspensions = 0;
    double cuts = 0;         ///< of one link, both ends hear of it
    double silent_cuts = 0;  ///< of one link, nobody hears of it
    double partitions = 0;   ///< of a random half
    double poisons = 0;      ///< a gradient that is not finite
    double bit_flips = 0;    ///< in a trainer's parameters; nothing else until it is mended
    double clock_jumps = 0;
    double full_disks = 0;  ///< of the backbone, which dies of it

    double corruption = 0;  ///< probability that a frame has a byte changed
    DirectoryFaults directory;

    Duration longest_absence = std::chrono::seconds{20};  ///< dead, suspended or cut off
    Duration longest_hang = std::chrono::seconds{15};
    Duration longest_jump = std::chrono::seconds{4};

    /// A bad evening on home links.
    static FaultMix ordinary();
    /// Far more than any swarm sees.
    static FaultMix rough();
    /// One kind more of a mix that is drawn from the seed: every seed tries another blend.
    static FaultMix drawn(Random& random);
};

/// Sets faults loose in a world and puts right what they did: after `duration` and the longest
/// absence everybody runs and reaches everybody.
class Faults {
  public:
    /// `world` must outlive it, and it must outlive the run.
    Faults(World& world, const FaultMix& mix, Random random);
    void run(Duration duration);

    std::uint64_t count() const { return count_; }

  private:
    struct Kind {
        double rate;
        std::function<void()> happen;
    };

    void next();
    bool is_anybody_damaged() const;
    void calm_down();
    World::Id anybody();
    World::Id somebody();  ///< not the backbone; the backbone where it is alone
    Duration up_to(Duration most);
    void crash(World::Id id);
    void bring_back(World::Id id);
    void kill_at_point();
    void hang();
    void suspend();
    void part();

    World& world_;
    const FaultMix mix_;
    Random random_;
    std::vector<Kind> kinds_;
    double rate_ = 0;  ///< of all
    TimePoint end_;
    std::uint64_t count_ = 0;
};

}  // namespace dedloc::simulation
