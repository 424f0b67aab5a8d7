// Device version of kernels/lamb.hpp.
#pragma once

#include "kernels/cuda/device_span.hpp"
#include "kernels/cuda/device_table.hpp"
#include "kernels/cuda/stream.hpp"
#include "kernels/lamb.hpp"

namespace dedloc::kernels::cuda {

/// Bytes of workspace that lamb needs for the tensors of a table.
std::size_t lamb_workspace_bytes(const DeviceTable& table);

/// A model's vectors on a device.
struct DeviceLambVectors {
    DeviceSpan<float> parameters, first_moment, second_moment;  ///< N each, updated
    DeviceSpan<const float> gradient;                           ///< N
};

/// One LAMB update of all tensors of a table, in place, with the host's bits; formulas in
/// kernels/lamb.hpp. Nothing waits for the host: norms and ratios stay on the device.
///
/// Shapes    all four N ≥ table.end; ratios (output) one for each tensor, or empty
/// Requires  as on the host; a workspace of the size above      (aborts)
/// Errors    CudaError if a launch fails      Stream  enqueued, not awaited
/// Cost      24 + 16 = 40 bytes an element; 3 launches for any number of tensors. Loads and stores
///           have 16 bytes in tensors whose offset is a multiple of 4 elements, if the vectors
///           begin at multiples of 16 bytes
void lamb(const DeviceLambVectors& vectors, const DeviceTable& table, const LambScalars& scalars,
          DeviceSpan<double> ratios, DeviceSpan<std::byte> workspace, StreamView stream);

}  // namespace dedloc::kernels::cuda
