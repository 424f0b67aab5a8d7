// Device version of kernels/accumulate.hpp.
#pragma once

#include "kernels/arithmetic.hpp"
#include "kernels/cuda/device_span.hpp"
#include "kernels/cuda/stream.hpp"

namespace dedloc::kernels::cuda {

/// Bytes of workspace that accumulate needs for `count` elements.
std::size_t accumulate_workspace_bytes(std::size_t count);

/// Adds a scaled gradient to a running sum, with the bits of the host.
///
///     sum[i] = sum[i] + scale × float(gradient[i]);   sum_of_squares = Σ (scale × gradient[i])²
///
/// Shapes    sum N ≤ 2³², gradient N, sum_of_squares 1; N = 0 writes a sum of 0
/// Flag      cleared if a new sum[i] is not finite; sum_of_squares is then unspecified
/// Requires  scale finite, nothing overlaps, a workspace of the size above      (aborts)
/// Errors    CudaError if the launch fails      Stream  enqueued, not awaited
/// Cost      12 bytes an element; 10 from fp16 and bf16; 2 launches
void accumulate(DeviceSpan<float> sum, DeviceSpan<const float> gradient, float scale,
                DeviceSpan<double> sum_of_squares, DeviceFlag is_finite,
                DeviceSpan<std::byte> workspace, StreamView stream);
void accumulate(DeviceSpan<float> sum, DeviceSpan<const Half> gradient, float scale,
                DeviceSpan<double> sum_of_squares, DeviceFlag is_finite,
                DeviceSpan<std::byte> workspace, StreamView stream);
void accumulate(DeviceSpan<float> sum, DeviceSpan<const Bfloat16> gradient, float scale,
                DeviceSpan<double> sum_of_squares, DeviceFlag is_finite,
                DeviceSpan<std::byte> workspace, StreamView stream);

}  // namespace dedloc::kernels::cuda
