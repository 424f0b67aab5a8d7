// What will happen, in the order in which it will. A moment is 32 bytes and holds no function, so a
// thousand peers' frames cost a heap operation each and nothing else.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "peer/base/check.hpp"
#include "peer/base/units.hpp"

namespace dedloc::simulation {

/// What kind of thing happens: who schedules it says what `subject` and `detail` mean.
enum class What : std::uint32_t {
    kUplinkDone,    ///< subject: node, detail: link that was served
    kArrival,       ///< detail: link it was sent on
    kDownlinkDone,  ///< subject: node, detail: link it was sent on
    kDialDone,      ///< detail: number of the dial
    kAccepted,      ///< detail: the accepting end
    kSilence,       ///< detail: the end that has heard nothing for too long
    kClosed,        ///< detail: the end that hears of it
    kTick,          ///< subject: node, detail: its life
    kCall,          ///< detail: number of the function
};

struct Moment {
    TimePoint when;
    std::uint64_t order = 0;  ///< of equal times, what was scheduled first happens first
    What what = What::kCall;
    std::uint32_t subject = 0;
    std::uint64_t detail = 0;
};

/// A binary heap of moments and the time: the world's own, that no peer's clock shows exactly.
class Timeline {
  public:
    /// Requires when ≥ now().
    void at(TimePoint when, What what, std::uint32_t subject, std::uint64_t detail) {
        DEDLOC_CHECK(when >= now_, "nothing is scheduled in the past");
        heap_.push_back({when, next_order_++, what, subject, detail});
        std::push_heap(heap_.begin(), heap_.end(), is_later);
    }
    bool is_empty() const { return heap_.empty(); }
    /// Requires that something is scheduled.
    TimePoint next() const { return heap_.front().when; }
    /// Takes the earliest moment; it is that time now. Requires that something is scheduled.
    Moment pop() {
        std::pop_heap(heap_.begin(), heap_.end(), is_later);
        const Moment moment = heap_.back();
        heap_.pop_back();
        now_ = moment.when;
        return moment;
    }
    /// Requires now() ≤ time ≤ next().
    void pass_to(TimePoint time) {
        DEDLOC_CHECK(time >= now_ && (is_empty() || time <= next()), "a moment was passed over");
        now_ = time;
    }
    TimePoint now() const { return now_; }
    std::uint64_t scheduled() const { return next_order_; }

  private:
    static bool is_later(const Moment& a, const Moment& b) {
        return std::pair{a.when, a.order} > std::pair{b.when, b.order};
    }

    TimePoint now_{};
    std::uint64_t next_order_ = 0;
    std::vector<Moment> heap_;
};

}  // namespace dedloc::simulation
