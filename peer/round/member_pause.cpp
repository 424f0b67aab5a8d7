// A member of a paused run. The trainer keeps its sum and its state; which of its calls goes on
// with the sum depends on the phase.
#include <utility>

#include "peer/round/member.hpp"

namespace dedloc::round {

void Member::set_paused(bool is_paused, Outbox& out) {
    if (std::exchange(is_paused_, is_paused) == is_paused) return;
    if (!is_paused) {
        // In the other phases the next call of work() continues the sum.
        if (phase_ == Phase::kWorking) compute(out);
    } else if (has_sum_) {
        out.act(action::Overlap{.step = step_, .most = Samples{0}});
    }
}

}  // namespace dedloc::round
