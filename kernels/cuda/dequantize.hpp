// Device version of kernels/dequantize.hpp.
#pragma once

#include "kernels/cuda/quantize.hpp"

namespace dedloc::kernels::cuda {

/// out[i] = the value that was sent, exactly. Accepts any bytes: they come from untrusted peers.
///
/// Shapes    values N (int8: N codes and ⌈N ÷ 64⌉ exponents), out N; N = 0 does nothing
/// Flag      cleared if an out[i] is not finite
/// Requires  equal extents, no overlap      (aborts)
/// Errors    CudaError if the launch fails      Stream  enqueued, not awaited
/// Cost      6 bytes an element, int8 5.02; 1 launch
void dequantize(DeviceSpan<const Half> values, DeviceSpan<float> out, DeviceFlag is_finite,
                StreamView stream);
void dequantize(DeviceSpan<const Bfloat16> values, DeviceSpan<float> out, DeviceFlag is_finite,
                StreamView stream);
void dequantize(ConstDeviceInt8Blocks values, DeviceSpan<float> out, DeviceFlag is_finite,
                StreamView stream);

}  // namespace dedloc::kernels::cuda
