// Device version of kernels/lamb.hpp.
#pragma once

#include "kernels/cuda/device_span.hpp"
#include "kernels/cuda/stream.hpp"
#include "kernels/lamb.hpp"

namespace dedloc::kernels::cuda {

/// Bytes of workspace that lamb needs for `count` elements.
std::size_t lamb_workspace_bytes(std::size_t count);

/// A tensor, its moments and its gradient, on a device.
struct DeviceLambTensor {
    DeviceSpan<float> parameters, first_moment, second_moment;  ///< N each, updated
    DeviceSpan<const float> gradient;                           ///< N
};

/// One LAMB update of one tensor, in place, with the host's bits; formulas in kernels/lamb.hpp.
/// Nothing waits for the host: norms and ratio stay on the device.
///
/// Shapes    all four N ≤ 2³²; clip_factor 1, or empty: the one in `scalars` is used; ratio
///           (output) 1 or empty; N = 0 writes a ratio of 1 and does nothing else
/// Requires  as on the host; a workspace of the size above      (aborts); clip_factor finite
/// Errors    CudaError if a launch fails      Stream  enqueued, not awaited
/// Cost      24 + 16 = 40 bytes an element; 3 launches
void lamb(const DeviceLambTensor& tensor, const LambScalars& scalars,
          DeviceSpan<const float> clip_factor, DeviceSpan<double> ratio,
          DeviceSpan<std::byte> workspace, StreamView stream);

}  // namespace dedloc::kernels::cuda
