// Device version of kernels/unit_rows.hpp.
#pragma once

#include "kernels/cuda/device_span.hpp"
#include "kernels/cuda/device_table.hpp"
#include "kernels/cuda/stream.hpp"

namespace dedloc::kernels::cuda {

/// Bytes of workspace that unit_rows needs for the rows of a table.
std::size_t unit_rows_workspace_bytes(const DeviceTable& rows);

/// Scales the rows of a table to length 1, in place, with the host's bits; formulas in
/// kernels/unit_rows.hpp. Nothing waits for the host: norms stay on the device.
///
/// Shapes    values N ≥ rows.end
/// Requires  as on the host; a workspace of the size above      (aborts)
/// Errors    CudaError if a launch fails      Stream  enqueued, not awaited
/// Cost      4 + 8 = 12 bytes an element, 3 launches for any number of rows, one block for each.
///           Width of loads and stores as for lamb
void unit_rows(DeviceSpan<float> values, const DeviceTable& rows, DeviceSpan<std::byte> workspace,
               StreamView stream);

}  // namespace dedloc::kernels::cuda
