// Assignments of crops to prototypes: Sinkhorn's algorithm, and the queue of earlier crops that
// take part in it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "peer/formats/swav_spec.hpp"

namespace dedloc::swav {

/// Assigns rows to prototypes, such that all prototypes get about equal parts of the rows.
///
///     Q = exp(scores ÷ ε); repeated: each column of Q ÷= its sum, then each row ÷= its sum
///
/// Shapes    scores, result [rows, K], fp32; each row of the result adds up to 1
/// Order     facebook's code also divides by K, by the rows and by the sum of all: such factors
///           have no effect. Before exp the largest of each column is subtracted, which has none
///           either, and no column's sum is 0.
/// Gradient  none
at::Tensor sinkhorn(const at::Tensor& scores, double epsilon, std::uint64_t iterations);

/// The latest projections of each assignment crop. They make assignments of small micro-batches
/// more even: their rows take part in Sinkhorn's algorithm and are then left out.
class ProjectionQueue {
  public:
    /// Holds up to task.queue rows for each assignment crop, none at the start.
    explicit ProjectionQueue(const formats::SwavSpec& task);

    /// Whether it is used in a step: it is full, and the step has come.
    bool is_used(std::uint64_t step) const;
    /// Rows [task.queue, D] of an assignment crop. Requires a full queue.
    const at::Tensor& rows(std::size_t crop) const { return rows_[crop]; }
    /// Adds the projections [pictures, D] of each assignment crop, newest first, and drops the
    /// oldest beyond the queue's length. `projections` has them one below the other.
    void push(const at::Tensor& projections, std::int64_t pictures);

  private:
    const std::int64_t length_;
    const std::uint64_t from_step_;
    std::vector<at::Tensor> rows_;  // one for each assignment crop; undefined while empty
};

}  // namespace dedloc::swav
