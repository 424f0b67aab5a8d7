// Device version of kernels/bfloat_lanes.hpp: the round's bf16 codec. An average is decoded by
// dequantize.hpp, because it has no scale.
#pragma once

#include "kernels/arithmetic.hpp"
#include "kernels/cuda/device_span.hpp"
#include "kernels/cuda/stream.hpp"

namespace dedloc::kernels::cuda {

/// out[i] = to_bfloat16(x[i]) for x[i] = values[i] + owed[i]; without `owed` (empty) for x[i] =
/// values[i] + 0, which changes only −0.
///
/// Shapes    values N, owed N or empty, out N; N = 0 does nothing
/// Flag      cleared if an x[i] is not finite
/// Requires  equal extents, no overlap      (aborts)
/// Errors    CudaError if the launch fails      Stream  enqueued, not awaited
/// Cost      6 bytes an element, 10 with `owed`; 1 launch
void shorten_to_bfloats(DeviceSpan<const float> values, DeviceSpan<const float> owed,
                        DeviceSpan<Bfloat16> out, DeviceFlag is_finite, StreamView stream);

/// Computes the rounding errors: error[i] = x[i] − to_float(to_bfloat16(x[i])), where x[i] =
/// values[i] + error[i].
///
/// Shapes    values N, error N; N = 0 does nothing
/// Flag      cleared if an x[i] is not finite
/// Requires  equal extents, no overlap      (aborts)
/// Errors    CudaError if the launch fails      Stream  enqueued, not awaited
/// Cost      12 bytes an element; 1 launch
void keep_bfloat_errors(DeviceSpan<const float> values, DeviceSpan<float> error,
                        DeviceFlag is_finite, StreamView stream);

/// sum[i] += to_float(values[i]).
///
/// Shapes    values N, sum N; N = 0 does nothing
/// Flag      cleared if a new sum[i] is not finite
/// Requires  equal extents, no overlap      (aborts)
/// Errors    CudaError if the launch fails      Stream  enqueued, not awaited
/// Cost      10 bytes an element; 1 launch
void add_bfloats(DeviceSpan<const Bfloat16> values, DeviceSpan<float> sum, DeviceFlag is_finite,
                 StreamView stream);

}  // namespace dedloc::kernels::cuda
