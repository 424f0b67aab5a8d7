// Samples a second of one peer, smoothed: samples of the recent past over the time they took, old
// ones weighing less. Reports may come at any intervals.
#pragma once

#include "peer/base/units.hpp"

namespace dedloc::progress {

class Throughput {
  public:
    /// What is `memory` old weighs about a third.     Requires  memory > 0 (aborts)
    explicit Throughput(Duration memory = std::chrono::seconds{10});

    /// Computing begins (again): the time since the last add() does not count.
    void resume(TimePoint now);
    /// `done` samples are finished, begun at the last resume() or add(). An interval counts for at
    /// most four average ones: a machine that was asleep is not slow.
    void add(TimePoint now, Samples done);

    /// 0 until the first add() that took time.
    double samples_per_second() const { return busy_ > 0 ? samples_ / busy_ : 0; }

  private:
    const double memory_;  ///< seconds, as all below
    TimePoint since_;
    bool is_running_ = false;
    double samples_ = 0;
    double busy_ = 0;
    double intervals_ = 0;
};

}  // namespace dedloc::progress
