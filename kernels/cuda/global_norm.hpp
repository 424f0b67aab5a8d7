// Device version of kernels/global_norm.hpp. Norm and factor stay on the device: LAMB, SGD and clip
// read the factor there.
#pragma once

#include "kernels/cuda/device_span.hpp"
#include "kernels/cuda/stream.hpp"

namespace dedloc::kernels::cuda {

/// Bytes of workspace that sum_of_squares and global_norm need for `count` elements.
std::size_t norm_workspace_bytes(std::size_t count);

/// sum = Σ values[i]² in double, in the order of reduction.hpp; finite exactly if every element is.
///
/// Shapes    values N ≤ 2³², sum 1; N = 0 writes 0
/// Requires  a workspace of the size above      (aborts)
/// Errors    CudaError if a launch fails      Stream  enqueued, not awaited
/// Cost      4 bytes an element; 2 launches
void sum_of_squares(DeviceSpan<const float> values, DeviceSpan<double> sum,
                    DeviceSpan<std::byte> workspace, StreamView stream);

/// norm = √ of sum_of_squares.
void global_norm(DeviceSpan<const float> values, DeviceSpan<double> norm,
                 DeviceSpan<std::byte> workspace, StreamView stream);

/// factor = float(limit ÷ norm) if norm > limit > 0, else 1. The factor is useless if the norm is
/// not finite: check a flag first.
///
/// Shapes    norm 1, factor 1      Requires  limit finite and ≥ 0      (aborts)
/// Errors    CudaError      Stream  enqueued, not awaited      Cost  1 launch
void clip_factor(DeviceSpan<const double> norm, float limit, DeviceSpan<float> factor,
                 StreamView stream);

/// values[i] ← factor × values[i]
///
/// Shapes    values N, factor 1; N = 0 does nothing
/// Requires  factor does not overlap values      (aborts); factor finite
/// Errors    CudaError      Stream  enqueued, not awaited      Cost  8 bytes an element, 1 launch
void clip(DeviceSpan<float> values, DeviceSpan<const float> factor, StreamView stream);

}  // namespace dedloc::kernels::cuda
