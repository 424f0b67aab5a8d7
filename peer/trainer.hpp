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

    /// Performs an action; peer/events.hpp says what each one asks for, and which event answers it.
    virtual void perform(TrainerAction action) = 0;
};

}  // namespace dedloc
