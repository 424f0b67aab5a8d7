// Times of the heads whose samples may count are kept, as trainers that are not in every round hold
// samples of earlier states. Samples of a history that this peer has not followed may be as old as
// it allows: then the bound is carried_.
#include "peer/round/head_times.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::round {
namespace {

constexpr std::size_t kMaxHeads = wire::kMaxStaleSteps + 1;

}  // namespace

void HeadTimes::on_head(TimePoint now, bool is_live) {
    const Samples target = rules_.target_batch;
    const Samples held = std::exchange(stored_, is_live ? Samples{0} : target);
    carried_ = stored_;
    if (rules_.overlaps) carried_ += is_live ? held : target;
    computing_since_ = rules_.overlaps && is_live ? since_ : now;
    if (!is_live) heads_.clear();
    heads_.push_front(now);
    if (heads_.size() > kMaxHeads) heads_.pop_back();
    since_ = now;
    is_live_ = is_live;
}

void HeadTimes::on_pause(TimePoint now) {
    if (!paused_at_) paused_at_ = now;
}

Duration HeadTimes::on_resume(TimePoint now) {
    if (!paused_at_) return {};
    const TimePoint idle_since = std::max(*paused_at_, computing_since_) + rules_.join_timeout;
    paused_at_.reset();
    if (now <= idle_since) return {};
    computing_since_ += now - idle_since;
    for (TimePoint& time : heads_) time += now - idle_since;
    return now - idle_since;
}

/// One that is not in every round has computed for longer, but none of its samples are of the time
/// before its last counted ones.
TimePoint HeadTimes::computing_since(const PeerKey& peer, StepIndex head,
                                     const Turns& turns) const {
    if (!turns.may_hold_old(peer, head) || heads_.empty()) return computing_since_;
    return std::min(computing_since_, turns.unpaid_since(peer, heads_.back()));
}

Samples HeadTimes::limit(TimePoint now, TimePoint since,
                         std::uint64_t max_samples_per_second) const {
    const std::chrono::duration<double> time = now - since + std::chrono::seconds{1};
    const double max = static_cast<double>(max_samples_per_second) * time.count();
    const double bounded = std::min(max, static_cast<double>(wire::kMaxSamples));
    return std::min(Samples{static_cast<std::uint64_t>(bounded)} + carried_,
                    Samples{wire::kMaxSamples});
}

void HeadTimes::check_invariants() const {
    DEDLOC_CHECK(heads_.size() <= kMaxHeads, "times are kept of heads whose samples may count");
    DEDLOC_CHECK(carried_ >= stored_, "what trainers held at the head is of its round");
}

}  // namespace dedloc::round
