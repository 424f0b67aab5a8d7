// Smoothed samples per second of one peer: recent samples divided by the time that they took, with
// exponentially decaying weights. Reports may come at any intervals.
#pragma once

#include "peer/base/units.hpp"

namespace dedloc::progress {

/// Moving average of one peer's speed.
class Throughput {
  public:
    /// `memory`: age at which samples weigh about a third.     Requires  memory > 0 (aborts)
    explicit Throughput(Duration memory = std::chrono::seconds{10});

    /// Computing begins, or begins again: the time since the last add() does not count.
    void resume(TimePoint now);
    /// `done` samples are finished that were begun at the last resume() or add(). An interval
    /// counts as at most four average ones: a machine that was suspended is not slow.
    void add(TimePoint now, Samples done);

    /// The average; 0 until the first add() that took time.
    double samples_per_second() const { return busy_ > 0 ? samples_ / busy_ : 0; }

  private:
    const double memory_;  ///< seconds
    TimePoint since_;
    bool is_running_ = false;
    double samples_ = 0;
    double busy_ = 0;
    double intervals_ = 0;
};

}  // namespace dedloc::progress
