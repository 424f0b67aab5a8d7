// Device version of kernels/half_lanes.hpp: the round's fp16 codec, in which all elements of a
// contribution share a power of two as scale.
#pragma once

#include "kernels/arithmetic.hpp"
#include "kernels/cuda/device_span.hpp"
#include "kernels/cuda/stream.hpp"

namespace dedloc::kernels::cuda {

/// The values to round: x[i] = scale × values[i] + scale × owed[i], each operation rounded
/// separately; without `owed`, scale × values[i] + addend.
struct DeviceUnrounded {
    DeviceSpan<const float> values{};  ///< N elements
    float scale = 1;                   ///< a power of two
    DeviceSpan<const float> owed{};    ///< N rounding errors of earlier vectors; empty: none
    float addend = -0.0F;              ///< −0 changes nothing, +0 changes only −0
};

/// out[i] = to_half(x[i]).
///
/// Shapes    values N, owed N or empty, out N; N = 0 does nothing
/// Flag      cleared if an x[i] is not finite
/// Requires  equal extents, no overlap      (aborts)
/// Errors    CudaError if the launch fails      Stream  enqueued, not awaited
/// Cost      6 bytes an element, 10 with `owed`; 1 launch
void shorten_to_halves(const DeviceUnrounded& x, DeviceSpan<Half> out, DeviceFlag is_finite,
                       StreamView stream);

/// Computes the rounding errors: error[i] = (x[i] − to_float(to_half(x[i]))) ÷ scale, where x[i] =
/// scale × values[i] + scale × error[i].
///
/// Shapes    values N, error N; N = 0 does nothing
/// Flag      cleared if an x[i] is not finite
/// Requires  equal extents, no overlap, a scale of 2⁻¹²⁶ to 2¹²⁶      (aborts)
/// Errors    CudaError if the launch fails      Stream  enqueued, not awaited
/// Cost      12 bytes an element; 1 launch
void keep_half_errors(DeviceSpan<const float> values, float scale, DeviceSpan<float> error,
                      DeviceFlag is_finite, StreamView stream);

/// out[i] = scale × to_float(values[i]).
///
/// Shapes    values N, out N; N = 0 does nothing
/// Flag      cleared if an out[i] is not finite
/// Requires  equal extents, no overlap      (aborts)
/// Errors    CudaError if the launch fails      Stream  enqueued, not awaited
/// Cost      6 bytes an element; 1 launch
void widen_halves(DeviceSpan<const Half> values, float scale, DeviceSpan<float> out,
                  DeviceFlag is_finite, StreamView stream);

/// sum[i] += scale × to_float(values[i]), rounding the product first.
///
/// Shapes    values N, sum N; N = 0 does nothing
/// Flag      cleared if a new sum[i] is not finite
/// Requires  equal extents, no overlap      (aborts)
/// Errors    CudaError if the launch fails      Stream  enqueued, not awaited
/// Cost      10 bytes an element; 1 launch
void add_halves(DeviceSpan<const Half> values, float scale, DeviceSpan<float> sum,
                DeviceFlag is_finite, StreamView stream);

}  // namespace dedloc::kernels::cuda
