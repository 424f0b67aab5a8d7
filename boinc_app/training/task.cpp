#include "boinc_app/training/task.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <cstddef>
#include <string>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"

namespace dedloc::training {
namespace {

std::string text_of(const formats::TensorSpec& tensor) {
    return fmt::format("'{}' [{}]", tensor.name, fmt::join(tensor.shape, ","));
}

}  // namespace

ProcessorWay Task::on_processor(const ProcessorOffer& offer, FusedLayers&) const {
    if (offer.precision && *offer.precision != Precision::kFp32) {
        throw InputError{"--precision: this run's network computes only in fp32 on processors"};
    }
    return {};
}

void refuse_other_tensors(const std::vector<formats::TensorSpec>& listed,
                          const std::vector<formats::TensorSpec>& wanted) {
    if (listed.size() != wanted.size()) {
        throw InputError{fmt::format("the run file lists {} tensors, but the model has {}",
                                     listed.size(), wanted.size())};
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (listed[i].name == wanted[i].name && listed[i].shape == wanted[i].shape) continue;
        throw InputError{fmt::format("tensor {} of the run file is {}, but the model has {} there",
                                     i, text_of(listed[i]), text_of(wanted[i]))};
    }
}

void set_compute_threads(unsigned count) {
    DEDLOC_CHECK(count >= 1, "at least one compute thread is needed");
    at::set_num_threads(static_cast<int>(count));
}

}  // namespace dedloc::training
