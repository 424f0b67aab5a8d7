// Samples, busy time and the number of intervals all decay by memory ÷ (memory + interval) at each
// add(), so reports at short and at long intervals have nearly the same weight for their time.
#include "peer/progress/throughput.hpp"

#include <algorithm>

namespace dedloc::progress {

Throughput::Throughput(Duration memory) : memory_(seconds_of(memory)) {
    DEDLOC_CHECK(memory_ > 0, "the memory of an average is positive");
}

void Throughput::resume(TimePoint now) {
    since_ = now;
    is_running_ = true;
}

void Throughput::add(TimePoint now, Samples done) {
    if (!is_running_) return resume(now);
    constexpr double kMaxTime = 4;
    double took = seconds_of(now - since_);
    since_ = now;
    if (busy_ > 0) took = std::min(took, kMaxTime * busy_ / intervals_);
    // 1 / (1 + x) instead of exp(-x): close enough, and independent of the machine's libm.
    const double keep = memory_ / (memory_ + took);
    samples_ = samples_ * keep + static_cast<double>(done.value());
    busy_ = busy_ * keep + took;
    intervals_ = intervals_ * keep + 1;
}

}  // namespace dedloc::progress
