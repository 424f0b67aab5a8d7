#include "kernels/cuda/unit_rows.hpp"

#include "kernels/cuda/enqueue.hpp"
#include "kernels/cuda/unit_rows_body.hpp"
#include "kernels/requirements.hpp"

namespace dedloc::kernels::cuda {

std::size_t unit_rows_workspace_bytes(const DeviceTable& rows) {
    return table_workspace_bytes<1, double>(rows);
}

void unit_rows(DeviceSpan<float> values, const DeviceTable& rows, DeviceSpan<std::byte> workspace,
               StreamView stream) {
    require_unit_rows(values.size(), rows.end);
    require_apart(workspace, values, rows.segments, rows.tensors);
    double* const sums = doubles_of(workspace, unit_rows_workspace_bytes(rows));
    const TableView view = view_of(rows, values);
    // The divisors are stored after the sums.
    double* const divisors = sums + view.segment_count;
    enqueue(TableSums<UnitSquares>{{values.data()}, view, sums}, stream, "the rows' norms");
    enqueue(TensorTotals<1, UnitDivisor>{sums, view, {divisors}}, stream, "the rows' divisors");
    const UnitElements row{.values = values.data(), .divisors = divisors};
    enqueue(TableElements<UnitElements>{row, view}, stream, "scaling the rows");
}

}  // namespace dedloc::kernels::cuda
