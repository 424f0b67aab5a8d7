// Device version of kernels/sgd.hpp.
#pragma once

#include "kernels/cuda/device_span.hpp"
#include "kernels/cuda/device_table.hpp"
#include "kernels/cuda/stream.hpp"
#include "kernels/sgd.hpp"

namespace dedloc::kernels::cuda {

/// Bytes of workspace that sgd needs for the tensors of a table.
std::size_t sgd_workspace_bytes(const DeviceTable& table);

/// A model's vectors on a device.
struct DeviceSgdVectors {
    DeviceSpan<float> parameters, momentum;  ///< N each, updated
    DeviceSpan<const float> gradient;        ///< N
};

/// One update of all tensors of a table, in place, with the host's bits; formulas in
/// kernels/sgd.hpp. Nothing waits for the host: norms and rates stay on the device.
///
/// Shapes    all three N ≥ table.end; rates (output) one for each tensor, or empty
/// Requires  as on the host; a workspace of the size above      (aborts)
/// Errors    CudaError if a launch fails      Stream  enqueued, not awaited
/// Cost      8 + 20 = 28 bytes an element, 3 launches for any number of tensors; 20 and 2 without
///           LARC. Width of loads and stores as for lamb
void sgd(const DeviceSgdVectors& vectors, const DeviceTable& table, const SgdScalars& scalars,
         DeviceSpan<float> rates, DeviceSpan<std::byte> workspace, StreamView stream);

}  // namespace dedloc::kernels::cuda
