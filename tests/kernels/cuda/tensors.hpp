// A segment table on the device that test cases run on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/lamb.hpp"
#include "kernels/cuda/sgd.hpp"
#include "tests/kernels/cuda/device.hpp"

namespace dedloc::tests {

/// A table on the device, and the workspace of an update of its tensors.
class Tensors {
  public:
    Tensors(const kernels::SegmentTable& table, Device& device)
        : segments_(copy(table.segments()), device),
          tensors_(copy(table.tensors()), device),
          end_(table.end()),
          workspace_(std::max(kernels::cuda::lamb_workspace_bytes(span()),
                              kernels::cuda::sgd_workspace_bytes(span())),
                     device) {}

    kernels::cuda::DeviceTable span() const {
        return {.segments = segments_, .tensors = tensors_, .end = end_};
    }
    DeviceSpan<std::byte> workspace() const { return workspace_; }

  private:
    template <class T>
    static std::vector<T> copy(std::span<const T> values) {
        return {values.begin(), values.end()};
    }

    Array<kernels::TensorSegment> segments_;
    Array<kernels::TensorSegments> tensors_;
    std::uint64_t end_;
    Workspace workspace_;
};

}  // namespace dedloc::tests
