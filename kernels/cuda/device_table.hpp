// A segment table in device memory, for the optimizers' launchers.
#pragma once

#include "kernels/cuda/device_span.hpp"
#include "kernels/segment_table.hpp"

namespace dedloc::kernels::cuda {

/// Copies of a SegmentTable's arrays, which the caller has uploaded. A model's tensors do not
/// change, so one upload serves all updates.
struct DeviceTable {
    DeviceSpan<const TensorSegment> segments;  ///< SegmentTable::segments()
    DeviceSpan<const TensorSegments> tensors;  ///< SegmentTable::tensors()
    std::uint64_t end = 0;                     ///< SegmentTable::end()
};

}  // namespace dedloc::kernels::cuda
