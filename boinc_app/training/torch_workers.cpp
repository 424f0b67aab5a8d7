// at::parallel_for is a template that needs OpenMP where it is compiled; an iterator over the
// numbers of the tasks is divided among threads within libtorch.
#include "boinc_app/training/torch_workers.hpp"

#include <ATen/TensorIterator.h>
#include <ATen/ops/arange.h>

namespace dedloc::training {

void TorchWorkers::run(std::size_t tasks, kernels::TaskView task) const {
    if (tasks == 0) return;
    if (tasks == 1) return task(0);
    at::Tensor numbers = at::arange(static_cast<std::int64_t>(tasks), at::kLong);
    at::TensorIterator iterator = at::TensorIterator::nullary_op(numbers);
    const auto call = [&](char** data, const std::int64_t* strides, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
            const auto* const number =
                reinterpret_cast<const std::int64_t*>(data[0] + i * strides[0]);
            task(static_cast<std::size_t>(*number));
        }
    };
    iterator.for_each(call, 1);
}

}  // namespace dedloc::training
