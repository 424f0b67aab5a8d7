// Device version of kernels/int8_lanes.hpp: the round's int8 codec. An average is decoded by
// dequantize.hpp.
#pragma once

#include "kernels/cuda/quantize.hpp"
#include "kernels/int8_lanes.hpp"

namespace dedloc::kernels::cuda {

/// What is encoded, in blocks: x[i] = values[i] + owed[i].
struct DeviceUnquantized {
    DeviceSpan<const float> values{};  ///< N elements
    DeviceSpan<const float> owed{};    ///< N rounding errors of earlier vectors; empty: none
    /// Upper bound of the scales' exponents; a block whose largest magnitude would need a larger
    /// one is clipped to ±127 scales.
    std::uint32_t max_exponent = kInt8MaxExponent;
};

/// Encodes x: codes[i], and one exponent for each block of 64.
///
/// Shapes    values N, owed N or empty, N codes and ⌈N ÷ 64⌉ exponents; N = 0 does nothing
/// Flag      cleared if an x[i] is not finite
/// Requires  equal extents, no overlap, a bound of kInt8MinBound to kInt8MaxExponent      (aborts)
/// Errors    CudaError if the launch fails      Stream  enqueued, not awaited
/// Cost      5.02 bytes an element, 9.02 with `owed`; 1 launch
void shorten_to_int8(const DeviceUnquantized& x, DeviceInt8Blocks out, DeviceFlag is_finite,
                     StreamView stream);

/// Computes the rounding errors: error[i] = x[i] − the value of its code, where x[i] = values[i] +
/// error[i], with the same bound as the codes.
///
/// Shapes    values N, error N; N = 0 does nothing
/// Flag      cleared if an x[i] is not finite
/// Requires  as shorten_to_int8      (aborts)
/// Errors    CudaError if the launch fails      Stream  enqueued, not awaited
/// Cost      12 bytes an element; 1 launch
void keep_int8_errors(DeviceSpan<const float> values, DeviceSpan<float> error,
                      std::uint32_t max_exponent, DeviceFlag is_finite, StreamView stream);

/// sum[i] += codes[i] × the scale of its block.
///
/// Shapes    N codes and ⌈N ÷ 64⌉ exponents, sum N; N = 0 does nothing
/// Flag      cleared if a new sum[i] is not finite
/// Requires  equal extents, no overlap      (aborts)
/// Errors    CudaError if the launch fails      Stream  enqueued, not awaited
/// Cost      9.02 bytes an element; 1 launch
void add_int8(ConstDeviceInt8Blocks values, DeviceSpan<float> sum, DeviceFlag is_finite,
              StreamView stream);

}  // namespace dedloc::kernels::cuda
