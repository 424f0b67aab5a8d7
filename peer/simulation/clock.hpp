// A simulated machine's clock: it runs fast or slow, and may jump forward (a laptop wakes, a
// virtual machine is resumed). It never goes backwards, as real peers read a steady clock.
#pragma once

#include <cstdint>

#include "peer/base/check.hpp"
#include "peer/base/units.hpp"

namespace dedloc::simulation {

/// Converts between the world's time and the time that this clock shows.
class Clock {
  public:
    /// A clock that shows `shown` at the world's time `world` and gains `drift_ppm` microseconds
    /// per second. Requires |drift_ppm| ≤ 500,000 (DEDLOC_CHECK).
    Clock(TimePoint world, TimePoint shown, std::int64_t drift_ppm)
        : world_(world), shown_(shown), rate_(kMillion + drift_ppm) {
        DEDLOC_CHECK(drift_ppm >= -kMillion / 2 && drift_ppm <= kMillion / 2,
                     "a clock runs at 0.5 to 1.5 times the real speed");
    }
    /// A clock without drift that shows the world's time.
    Clock() : Clock(TimePoint{}, TimePoint{}, 0) {}

    /// What it shows at `world`. Requires a time not before the last jump.
    TimePoint at(TimePoint world) const {
        return shown_ + Duration{scaled((world - world_).count(), rate_, kMillion)};
    }
    /// The first time of the world at which it shows `shown` or more; kNever for kNever.
    TimePoint when_shows(TimePoint shown) const {
        if (shown == kNever) return kNever;
        if (shown <= shown_) return world_;
        TimePoint world = world_ + Duration{scaled((shown - shown_).count(), kMillion, rate_)};
        while (at(world) < shown) world += Duration{1};
        return world;
    }
    /// Jumps forward by `step` at `world`. Requires step ≥ 0 (DEDLOC_CHECK).
    void jump(TimePoint world, Duration step) {
        DEDLOC_CHECK(step >= Duration{0}, "protocol time never goes backwards");
        shown_ = at(world) + step;
        world_ = world;
    }

  private:
    static constexpr std::int64_t kMillion = 1'000'000;
    /// value × up ÷ down without overflow, rounded towards zero.
    static std::int64_t scaled(std::int64_t value, std::int64_t up, std::int64_t down) {
        return value / down * up + value % down * up / down;
    }

    TimePoint world_;    ///< time of the last jump, or of the construction
    TimePoint shown_;    ///< what the clock showed then
    std::int64_t rate_;  ///< microseconds shown per second of the world
};

}  // namespace dedloc::simulation
