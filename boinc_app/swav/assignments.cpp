#include "boinc_app/swav/assignments.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <limits>

namespace dedloc::swav {

at::Tensor sinkhorn(const at::Tensor& scores, double epsilon, std::uint64_t iterations) {
    const c10::NoGradGuard no_gradients;
    const at::Tensor scaled = scores.to(at::kFloat) / epsilon;
    at::Tensor q = (scaled - scaled.amax({0}, true)).exp_();
    for (std::uint64_t i = 0; i < iterations; ++i) {
        q.div_(q.sum({0}, true));
        // A row that is far from all prototypes may be 0 in fp32; it stays so.
        q.div_(q.sum({1}, true).clamp_min_(std::numeric_limits<float>::min()));
    }
    return q;
}

ProjectionQueue::ProjectionQueue(const formats::SwavSpec& task)
    : length_(static_cast<std::int64_t>(task.queue)),
      from_step_(task.queue_from_step),
      rows_(task.crops.front().count) {}

bool ProjectionQueue::is_used(std::uint64_t step) const {
    return length_ > 0 && step >= from_step_ && rows_.front().defined() &&
           rows_.front().size(0) == length_;
}

void ProjectionQueue::push(const at::Tensor& projections, std::int64_t pictures) {
    if (length_ == 0) return;
    const c10::NoGradGuard no_gradients;
    std::int64_t first = 0;
    for (at::Tensor& rows : rows_) {
        const at::Tensor added = projections.detach().slice(0, first, first + pictures);
        const at::Tensor all = rows.defined() ? at::cat({added, rows}) : added;
        rows = all.slice(0, 0, std::min(length_, all.size(0))).clone();
        first += pictures;
    }
}

}  // namespace dedloc::swav
