// The norm of kernels/global_norm.hpp on a device.
#pragma once

#include "kernels/cuda/device_span.hpp"
#include "kernels/cuda/stream.hpp"

namespace dedloc::kernels::cuda {

/// Bytes of workspace that global_norm needs for `count` elements.
std::size_t norm_workspace_bytes(std::size_t count);

/// norm = √ Σ values[i]², summed in double in the order of reduction.hpp; finite exactly if every
/// element is.
///
/// Shapes    values N ≤ 2³², norm 1; N = 0 writes 0
/// Requires  a workspace of the size above      (aborts)
/// Errors    CudaError if a launch fails      Stream  enqueued, not awaited
/// Cost      4 bytes an element; 2 launches
void global_norm(DeviceSpan<const float> values, DeviceSpan<double> norm,
                 DeviceSpan<std::byte> workspace, StreamView stream);

}  // namespace dedloc::kernels::cuda
