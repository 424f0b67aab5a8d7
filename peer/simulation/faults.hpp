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

    // Drawn and scheduled apart from those above, so that they change none of them.
    double one_way_cuts = 0;  ///< what one host sends to another one is lost for a while
    double rate_changes = 0;  ///< of one host's bandwidth, down to a fiftieth
    /// A host, or the backbone, is suspended, hangs or is dead for up to `longest_pause`. One at a
    /// time.
    double long_pauses = 0;

    double corruption = 0;  ///< probability that a frame has a byte changed
    DirectoryFaults directory;

    Duration longest_absence = std::chrono::seconds{20};  ///< dead, suspended or cut off
    Duration longest_hang = std::chrono::seconds{15};
    Duration longest_jump = std::chrono::seconds{4};
    Duration longest_pause = std::chrono::hours{2};
    /// From the last fault until all of them are over.
    Duration recovery() const { return long_pauses > 0 ? longest_pause : longest_absence; }

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
    /// Faults one after the other.
    struct Chain {
        Random random;
        std::vector<Kind> kinds{};
        double rate = 0;  ///< of all

        void add(double kind_rate, std::function<void()> happen);
        Duration up_to(Duration most);
        World::Id any_of(std::size_t hosts) { return static_cast<World::Id>(random.below(hosts)); }
    };

    void next(Chain& chain);
    bool is_anybody_damaged() const;
    void calm_down();
    World::Id anybody();
    World::Id somebody();  ///< not the backbone; the backbone where it is alone
    void crash(World::Id id);
    void bring_back(World::Id id, Chain& chain);
    void kill_at_point();
    void hang();
    void suspend();
    void part();
    void cut_one_way();
    void change_rate();
    void pause_long();

    World& world_;
    const FaultMix mix_;
    Chain usual_;
    Chain apart_;
    bool is_pausing_ = false;
    TimePoint end_;
    std::uint64_t count_ = 0;
};

}  // namespace dedloc::simulation
