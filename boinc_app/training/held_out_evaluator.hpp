// The seam between training and what measures its states, as task.hpp is that to the networks.
#pragma once

#include <optional>
#include <span>

#include "boinc_app/training/computation.hpp"
#include "boinc_app/training/evaluation.hpp"

namespace dedloc::training {

/// Measures states on held-out data. Thread: one, whose number of compute threads it uses.
class HeldOutEvaluator {
  public:
    virtual ~HeldOutEvaluator() = default;

    /// The figures of these parameters; nothing when `is_interrupted` returns true, which is called
    /// between operations.
    ///
    /// Requires  N parameters at a multiple of 64 bytes, in host memory (aborts)
    /// Errors    as Model::add_gradient
    virtual std::optional<Evaluation> evaluate(std::span<const float> parameters,
                                               const IsInterrupted& is_interrupted) = 0;
};

}  // namespace dedloc::training
