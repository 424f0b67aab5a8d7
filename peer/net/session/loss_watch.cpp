// Each check compares two samples. A check at which the flow had nothing more to send, or was idle
// before, starts anew.
#include "peer/net/session/loss_watch.hpp"

namespace dedloc::net {

bool LossWatch::check(Time now, const std::optional<FlowSample>& sample) {
    if (!sample || !sample->has_more || !sample->obeys_loss) {
        last_.reset();
        limited_ = 0;
        return false;
    }
    if (!last_ || !was_busy(now, *sample)) {
        sent_again_ = sample->sent_again;
        limited_ = 0;
    } else {
        const auto shortest = sample->shortest_round_trip;
        const bool is_limited = sample->sent_again > sent_again_ && shortest >= kMinRoundTrip &&
                                sample->round_trip <= shortest + shortest / kQueuePart;
        limited_ = is_limited ? limited_ + 1 : 0;
    }
    last_ = {now, *sample};
    return limited_ >= kChecks;
}

/// Whether the flow has sent almost all the time since the last check.
bool LossWatch::was_busy(Time now, const FlowSample& sample) const {
    const std::chrono::duration<double> time = now - last_->at;
    const std::chrono::duration<double> busy =
        (sample.busy - last_->sample.busy) -
        (sample.limited_by_ends - last_->sample.limited_by_ends);
    return busy >= kMinBusy * time;
}

}  // namespace dedloc::net
