// The event queue of a world, ordered by time. A moment is 32 bytes and holds no function, so a
// frame of any of a thousand peers costs one heap operation and nothing else.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "peer/base/check.hpp"
#include "peer/base/units.hpp"

namespace dedloc::simulation {

/// What happens, and what a moment's `subject` and `detail` mean then.
enum class What : std::uint32_t {
    kUplinkDone,    ///< a frame has been sent; subject: node, detail: sending end
    kArrival,       ///< a frame reaches the downlink; detail: sending end
    kDownlinkDone,  ///< a frame has been received; subject: node, detail: sending end
    kDialDone,      ///< a dial ends; detail: number of the dial
    kAccepted,      ///< a link is accepted; detail: accepting end
    kSilence,       ///< a link times out; detail: the end that has received nothing
    kFlowReady,     ///< a link's next frame may begin; detail: sending end
    kClosed,        ///< a link closes; detail: the end that is told
    kTick,          ///< a peer's deadline; subject: node, detail: its life
    kCall,          ///< a function of World::after; detail: its number
};

/// A scheduled event.
struct Moment {
    TimePoint when;             ///< the world's time
    std::uint64_t order = 0;    ///< moments of equal time happen in the order of scheduling
    What what = What::kCall;    ///< the kind of event
    std::uint32_t subject = 0;  ///< see What
    std::uint64_t detail = 0;   ///< see What
};

/// A binary heap of moments, and the world's time. No peer's clock shows this time exactly.
class Timeline {
  public:
    /// Schedules a moment. Requires when ≥ now() (DEDLOC_CHECK).
    void at(TimePoint when, What what, std::uint32_t subject, std::uint64_t detail) {
        DEDLOC_CHECK(when >= now_, "no moment is scheduled in the past");
        heap_.push_back({when, next_order_++, what, subject, detail});
        std::push_heap(heap_.begin(), heap_.end(), is_later);
    }
    /// Whether nothing is scheduled.
    bool is_empty() const { return heap_.empty(); }
    /// The time of the earliest moment. Requires that something is scheduled.
    TimePoint next() const { return heap_.front().when; }
    /// Removes and returns the earliest moment; now() is its time. Requires that something is
    /// scheduled.
    Moment pop() {
        std::pop_heap(heap_.begin(), heap_.end(), is_later);
        const Moment moment = heap_.back();
        heap_.pop_back();
        now_ = moment.when;
        return moment;
    }
    /// Advances the time without an event. Requires now() ≤ time ≤ next() (DEDLOC_CHECK).
    void pass_to(TimePoint time) {
        DEDLOC_CHECK(time >= now_ && (is_empty() || time <= next()), "a moment was skipped");
        now_ = time;
    }
    /// The world's time.
    TimePoint now() const { return now_; }

  private:
    static bool is_later(const Moment& a, const Moment& b) {
        return std::pair{a.when, a.order} > std::pair{b.when, b.order};
    }

    TimePoint now_{};
    std::uint64_t next_order_ = 0;
    std::vector<Moment> heap_;
};

}  // namespace dedloc::simulation
