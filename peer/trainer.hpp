// The seam behind which gradients are made: libtorch in the training app, no gradients at all in
// the backbone, a quadratic with a known optimum in tests. Every call returns at once; the answer
// comes later as an event to the sink that the trainer was given. Calls come from one thread;
// events may come from another, in the order of the calls.
#pragma once

#include <functional>

#include "peer/events.hpp"

namespace dedloc {

/// Takes events from any thread. Must not call back into the caller.
using EventSink = std::function<void(Event)>;

class Trainer {
  public:
    virtual ~Trainer() = default;

    /// Compute micro-batches on state `step`, starting a new sum, and report event::Progressed
    /// after each, until freeze, pause, apply or load. Repeating it for a step at work changes
    /// nothing. A trainer whose state is not `step` ignores it.
    virtual void work(StepIndex step) = 0;
    /// Finish the micro-batch at hand and stop: event::ContributionFrozen, also when nothing was
    /// computed (samples 0) or when the state is another one (samples 0).
    virtual void freeze(StepIndex step) = 0;
    /// Turn state `step` into `step + 1` with this average: event::StateReached. Requires that it
    /// holds `step`.
    virtual void apply(StepIndex step, SharedFloats average, const UpdateScalars& scalars) = 0;
    /// event::SnapshotTaken with a copy of the whole state.
    virtual void snapshot() = 0;
    /// Replace the state: event::StateReached, or event::StateRefused when the digest is another
    /// one.
    virtual void load(StepIndex step, const Digest& digest, SharedBytes bytes) = 0;
    /// Stop computing after the micro-batch at hand and forget the sum. Answers nothing.
    virtual void pause() = 0;
};

}  // namespace dedloc
