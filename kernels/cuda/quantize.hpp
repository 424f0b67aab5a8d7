// Device version of kernels/quantize.hpp.
#pragma once

#include "kernels/arithmetic.hpp"
#include "kernels/cuda/device_span.hpp"
#include "kernels/cuda/stream.hpp"

namespace dedloc::kernels::cuda {

/// A vector of N elements in int8: N codes, and an exponent for every 64 of them.
struct DeviceInt8Blocks {
    DeviceSpan<std::int8_t> codes;       ///< N
    DeviceSpan<std::uint8_t> exponents;  ///< ⌈N ÷ 64⌉
};
/// The same, read-only.
struct ConstDeviceInt8Blocks {
    DeviceSpan<const std::int8_t> codes;       ///< N
    DeviceSpan<const std::uint8_t> exponents;  ///< ⌈N ÷ 64⌉
};

/// out[i] = the encoding's value nearest to values[i], ties to even; the host's bits.
///
/// Shapes    values N, out N (int8: N codes and ⌈N ÷ 64⌉ exponents); N = 0 does nothing
/// Flag      cleared if a value is not finite; then nothing in `out` may be used
/// Requires  equal extents, no overlap      (aborts)
/// Errors    CudaError if the launch fails      Stream  enqueued, not awaited
/// Cost      6 bytes an element, int8 5.02; 1 launch
void quantize(DeviceSpan<const float> values, DeviceSpan<Half> out, DeviceFlag is_finite,
              StreamView stream);
void quantize(DeviceSpan<const float> values, DeviceSpan<Bfloat16> out, DeviceFlag is_finite,
              StreamView stream);
void quantize(DeviceSpan<const float> values, DeviceInt8Blocks out, DeviceFlag is_finite,
              StreamView stream);

/// The same with error feedback: the rounding error is added to the next vector.
///
///     x = values[i] + error[i];   out[i] = quantized x;   error[i] = x − dequantized out[i]
///
/// Shapes    as above, error N
/// Flag      cleared if an x is not finite; then neither `out` nor `error` may be used
/// Cost      14 bytes an element, int8 13.02; 1 launch
void quantize_with_feedback(DeviceSpan<const float> values, DeviceSpan<float> error,
                            DeviceSpan<Half> out, DeviceFlag is_finite, StreamView stream);
void quantize_with_feedback(DeviceSpan<const float> values, DeviceSpan<float> error,
                            DeviceSpan<Bfloat16> out, DeviceFlag is_finite, StreamView stream);
void quantize_with_feedback(DeviceSpan<const float> values, DeviceSpan<float> error,
                            DeviceInt8Blocks out, DeviceFlag is_finite, StreamView stream);

}  // namespace dedloc::kernels::cuda
