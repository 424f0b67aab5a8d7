// The tensors of a model as kernels want them, and which of them the update of a step changes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/global_norm.hpp"
#include "kernels/segment_table.hpp"
#include "peer/base/units.hpp"
#include "peer/formats/optimizer.hpp"

namespace dedloc::state {

/// One tensor's range in the flat parameter vector.
struct TensorRange {
    std::uint64_t offset = 0;        ///< first element
    std::uint64_t count = 0;         ///< number of elements
    std::uint64_t padding = 0;       ///< number of zeros that follow it in the vector
    bool decays = false;             ///< weight decay applies to this tensor
    std::uint64_t row_length = 0;    ///< elements of a row of unit length, divides `count`; 0: none
    std::uint64_t frozen_steps = 0;  ///< updates of states below this step leave it as it is
    bool operator==(const TensorRange&) const = default;
};

/// What the update of one step changes.
struct UpdateTables {
    /// The tensors that are not frozen. NVIDIA's LAMB scales only the steps of those that decay.
    kernels::SegmentTable tensors;
    /// Their rows of unit length, in the vector of parameters.
    kernels::SegmentTable unit_rows;
    /// The frozen tensors with their padding.
    std::vector<kernels::ElementRange> frozen;
};

/// The tables of the updates of a run, of one step at a time. Begins with those of step 0.
///
/// Memory   40 bytes a tensor and a row, 16 a segment; they are made again at the few steps where a
///          tensor is no longer frozen
class StepTables {
  public:
    /// Requires tensors in ascending order that do not overlap, of whole rows (aborts).
    StepTables(std::vector<TensorRange> tensors, formats::Optimizer optimizer);

    /// Moves to the update of state `step`. Returns whether current() is another one than before.
    bool move_to(StepIndex step);
    /// The tables of that update.
    const UpdateTables& current() const { return current_; }

    /// Writes the tensors of a state at step 0 to a vector of zeros: `parameters` without what is
    /// in the padding, with rows of unit length. Both have all elements of the model.
    void put_initial(std::span<const float> parameters, std::span<float> to) const;

  private:
    /// Finds the steps around this one that have the same tables.
    void find_limits(std::uint64_t step);

    const std::vector<TensorRange> tensors_;
    const formats::Optimizer optimizer_;
    UpdateTables current_;
    // current_ serves the steps from first_ to end_ − 1.
    std::uint64_t first_ = 0;
    std::uint64_t end_ = 0;
};

}  // namespace dedloc::state
