#include "kernels/cuda/sgd.hpp"

#include "kernels/cuda/enqueue.hpp"
#include "kernels/cuda/sgd_body.hpp"
#include "kernels/requirements.hpp"

namespace dedloc::kernels::cuda {

std::size_t sgd_workspace_bytes(const DeviceTable& table) {
    return table_workspace_bytes<2, LarcFactors>(table);
}

void sgd(const DeviceSgdVectors& vectors, const DeviceTable& table, const SgdScalars& scalars,
         DeviceSpan<float> rates, DeviceSpan<std::byte> workspace, StreamView stream) {
    const auto& [p, b, gradient] = vectors;
    require_sgd({p.addresses(), b.addresses(), gradient.addresses()}, table.end, scalars);
    require_results(rates.size(), table.tensors.size());
    require_apart(workspace, p, b, gradient, rates, table.segments, table.tensors);
    double* const sums = doubles_of(workspace, sgd_workspace_bytes(table));
    const TableView view = view_of(table, p, b, gradient);
    // The factors are stored after the sums.
    auto* const factors =
        static_cast<LarcFactors*>(static_cast<void*>(sums + 2 * view.segment_count));
    const bool has_larc = scalars.trust > 0;
    if (has_larc) {
        const LarcRow row{p.data(), gradient.data(), scalars.element.clip_factor};
        enqueue(TableSums<LarcRow>{row, view, sums}, stream, "LARC's norms");
    }
    enqueue(TensorTotals<2, LarcRate>{has_larc ? sums : nullptr,
                                      view,
                                      {scalars.trust, scalars.epsilon, scalars.element.weight_decay,
                                       rates.empty() ? nullptr : rates.data(), factors}},
            stream, "LARC's rates");
    const MomentumRow row{.p = p.data(),
                          .b = b.data(),
                          .gradient = gradient.data(),
                          .scalars = scalars.element,
                          .factors = factors};
    enqueue(TableElements<MomentumRow>{row, view}, stream, "SGD's step");
}

}  // namespace dedloc::kernels::cuda
