// A machine's clock in a world: it runs fast or slow, and may jump forward (a laptop wakes, a
// virtual machine is resumed). Protocol time never goes backwards, so a clock that is set back is
// one that stands still: real peers read a steady clock.
#pragma once

#include <cstdint>

#include "peer/base/check.hpp"
#include "peer/base/units.hpp"

namespace dedloc::simulation {

class Clock {
  public:
    /// Shows `shown` at `world`, and gains `drift_ppm` microseconds a second.
    /// Requires |drift_ppm| ≤ 500,000.
    Clock(TimePoint world, TimePoint shown, std::int64_t drift_ppm)
        : world_(world), shown_(shown), rate_(kMillion + drift_ppm) {
        DEDLOC_CHECK(drift_ppm >= -kMillion / 2 && drift_ppm <= kMillion / 2,
                     "a clock runs at half to one and a half of the speed");
    }
    Clock() : Clock(TimePoint{}, TimePoint{}, 0) {}

    /// What it shows at `world`, which is not before the last step.
    TimePoint at(TimePoint world) const {
        return shown_ + Duration{scaled((world - world_).count(), rate_, kMillion)};
    }
    /// The first moment at which it shows `shown` or more; kNever for kNever.
    TimePoint when_shows(TimePoint shown) const {
        if (shown == kNever) return kNever;
        if (shown <= shown_) return world_;
        TimePoint world = world_ + Duration{scaled((shown - shown_).count(), kMillion, rate_)};
        while (at(world) < shown) world += Duration{1};
        return world;
    }
    /// Jumps forward at `world`. Requires step ≥ 0.
    void jump(TimePoint world, Duration step) {
        DEDLOC_CHECK(step >= Duration{0}, "protocol time never goes backwards");
        shown_ = at(world) + step;
        world_ = world;
    }

  private:
    static constexpr std::int64_t kMillion = 1'000'000;
    /// value × up ÷ down, rounded down, without overflow.
    static std::int64_t scaled(std::int64_t value, std::int64_t up, std::int64_t down) {
        return value / down * up + value % down * up / down;
    }

    TimePoint world_;  ///< of the last step
    TimePoint shown_;  ///< at that time
    std::int64_t rate_;
};

}  // namespace dedloc::simulation
