// Device version of kernels/sgd.hpp.
#pragma once

#include "kernels/cuda/device_span.hpp"
#include "kernels/cuda/stream.hpp"
#include "kernels/sgd.hpp"

namespace dedloc::kernels::cuda {

/// Bytes of workspace that sgd needs for `count` elements.
std::size_t sgd_workspace_bytes(std::size_t count);

/// A tensor, its momentum and its gradient, on a device.
struct DeviceSgdTensor {
    DeviceSpan<float> parameters, momentum;  ///< N each, updated
    DeviceSpan<const float> gradient;        ///< N
};

/// One update of one tensor, in place, with the host's bits; formulas in kernels/sgd.hpp. Nothing
/// waits for the host: norms and rate stay on the device.
///
/// Shapes    all three N ≤ 2³²; clip_factor 1, or empty: the one in `scalars` is used; rate
///           (output) 1 or empty; N = 0 writes a rate of 1 and does nothing else
/// Requires  as on the host; a workspace of the size above      (aborts); clip_factor finite
/// Errors    CudaError if a launch fails      Stream  enqueued, not awaited
/// Cost      8 + 20 = 28 bytes an element, 3 launches; 20 and 2 without LARC
void sgd(const DeviceSgdTensor& tensor, const SgdScalars& scalars,
         DeviceSpan<const float> clip_factor, DeviceSpan<float> rate,
         DeviceSpan<std::byte> workspace, StreamView stream);

}  // namespace dedloc::kernels::cuda
