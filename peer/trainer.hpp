// The interface behind which gradients are computed: by libtorch in the training app, not at all in
// the backbone, from a quadratic with a known optimum in tests. Every call returns at once. Answers
// come later as events to the sink that the trainer was constructed with. Calls come from one
// thread; events may come from another one, in the order of the calls.
#pragma once

#include <functional>

#include "peer/events.hpp"

namespace dedloc {

/// Takes events from any thread. Must not call back into the caller.
using EventSink = std::function<void(Event)>;

/// Owns one model state and computes contributions on it. `step` counts the updates that a state
/// has seen.
class Trainer {
  public:
    virtual ~Trainer() = default;

    /// Computes micro-batches on state `step` and adds them to the sum, with event::Progressed
    /// after each, until freeze, pause, apply or load. Starts a new sum, or goes on with the one
    /// that apply() has kept. A repeated call for the same step changes nothing. A trainer whose
    /// state is not `step` ignores the call.
    virtual void work(StepIndex step) = 0;
    /// Called after freeze(step), while the round of `step` is on its way: starts the sum of the
    /// next round on the same state and computes micro-batches as work() does, until the sum has
    /// `max` samples or more. None of its samples may be in a sum that was handed over before.
    /// If there is a sum already, the call only limits it. A trainer whose state is not `step`
    /// ignores the call. One that does not override it waits for the next state instead.
    virtual void overlap(StepIndex step, Samples max) {
        (void)step;
        (void)max;
    }
    /// Finishes the current micro-batch and stops: event::ContributionFrozen. The contribution has
    /// 0 samples if nothing was computed or if the state is not `step`.
    virtual void freeze(StepIndex step) = 0;
    /// Turns state `step` into `step + 1` with this average: event::StateReached. A micro-batch
    /// that is being computed ends on the old state and counts, or is dropped. The sum is kept, and
    /// work() goes on with it on the new state. Requires that the trainer holds `step`.
    virtual void apply(StepIndex step, SharedFloats average, const UpdateScalars& scalars) = 0;
    /// Shares the whole state, as it is now: event::SnapshotTaken.
    virtual void snapshot() = 0;
    /// Drops the sum and replaces the state: event::StateReached, or event::StateRefused if the
    /// bytes do not have this digest.
    virtual void load(StepIndex step, const Digest& digest, SharedBytes bytes) = 0;
    /// Stops computing after the current micro-batch and drops the sum. No event follows.
    virtual void pause() = 0;
};

}  // namespace dedloc
