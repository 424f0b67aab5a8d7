// Device version of kernels/finite.hpp.
#pragma once

#include "kernels/cuda/device_span.hpp"
#include "kernels/cuda/stream.hpp"

namespace dedloc::kernels::cuda {

/// Clears the flag if an element is infinite or NaN.
///
/// Shapes    values N; N = 0 does nothing
/// Errors    CudaError if the launch fails      Stream  enqueued, not awaited
/// Cost      4 bytes an element, 1 launch
void check_finite(DeviceSpan<const float> values, DeviceFlag is_finite, StreamView stream);

}  // namespace dedloc::kernels::cuda
