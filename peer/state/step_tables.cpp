// A frozen tensor is not in the table of tensors, so the optimizer's kernels neither read nor write
// it, and other tensors' norms do not depend on it. Tables are the same from one end of a tensor's
// frozen steps to the next, and in most runs for all steps.
#include "peer/state/step_tables.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/unit_rows.hpp"
#include "peer/base/check.hpp"

namespace dedloc::state {
namespace {

void add_rows(const TensorRange& tensor, std::vector<kernels::TensorPlace>& rows) {
    if (tensor.row_length == 0) return;
    DEDLOC_CHECK(tensor.count % tensor.row_length == 0, "a tensor's rows must fill it",
                 tensor.count, tensor.row_length);
    for (std::uint64_t at = 0; at < tensor.count; at += tensor.row_length) {
        rows.push_back({.offset = tensor.offset + at, .count = tensor.row_length});
    }
}

UpdateTables tables_at(const std::vector<TensorRange>& tensors, formats::Optimizer optimizer,
                       std::uint64_t step) {
    std::vector<kernels::TensorPlace> places;
    std::vector<kernels::TensorPlace> rows;
    std::vector<kernels::ElementRange> frozen;
    for (const TensorRange& tensor : tensors) {
        if (step < tensor.frozen_steps) {
            frozen.push_back({.first = tensor.offset, .count = tensor.count + tensor.padding});
            continue;
        }
        places.push_back({.offset = tensor.offset,
                          .count = tensor.count,
                          .decays = tensor.decays,
                          .adapts = optimizer != formats::Optimizer::kLambNvidia || tensor.decays});
        add_rows(tensor, rows);
    }
    return {.tensors = kernels::SegmentTable{places},
            .unit_rows = kernels::SegmentTable{rows},
            .frozen = std::move(frozen)};
}

}  // namespace

StepTables::StepTables(std::vector<TensorRange> tensors, formats::Optimizer optimizer)
    : tensors_(std::move(tensors)),
      optimizer_(optimizer),
      current_(tables_at(tensors_, optimizer_, 0)) {
    find_limits(0);
}

void StepTables::find_limits(std::uint64_t step) {
    first_ = 0;
    end_ = std::numeric_limits<std::uint64_t>::max();
    for (const TensorRange& tensor : tensors_) {
        if (tensor.frozen_steps <= step) {
            first_ = std::max(first_, tensor.frozen_steps);
        } else {
            end_ = std::min(end_, tensor.frozen_steps);
        }
    }
}

bool StepTables::move_to(StepIndex step) {
    const std::uint64_t k = step.value();
    if (first_ <= k && k < end_) return false;
    current_ = tables_at(tensors_, optimizer_, k);
    find_limits(k);
    return true;
}

void StepTables::put_initial(std::span<const float> parameters, std::span<float> to) const {
    DEDLOC_CHECK(parameters.size() == to.size(), "the vectors have different lengths",
                 parameters.size(), to.size());
    std::vector<kernels::TensorPlace> rows;
    for (const TensorRange& tensor : tensors_) {
        const auto first = static_cast<std::ptrdiff_t>(tensor.offset);
        std::copy_n(parameters.begin() + first, tensor.count, to.begin() + first);
        add_rows(tensor, rows);
    }
    kernels::unit_rows(to, kernels::SegmentTable{rows});
}

}  // namespace dedloc::state
