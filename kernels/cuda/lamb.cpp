#include "kernels/cuda/lamb.hpp"

#include "kernels/cuda/enqueue.hpp"
#include "kernels/cuda/lamb_body.hpp"
#include "kernels/requirements.hpp"

namespace dedloc::kernels::cuda {
namespace {

template <bool kDebiasesMoments>
void update(const DeviceLambVectors& all, const TableView& table, const LambScalars& scalars,
            double* ratios, double* sums, StreamView stream) {
    // The factors are stored after the sums.
    auto* const factors = static_cast<float*>(static_cast<void*>(sums + 2 * table.segment_count));
    const MomentsRow<kDebiasesMoments> moments{all.parameters.data(), all.first_moment.data(),
                                               all.second_moment.data(), all.gradient.data(),
                                               scalars.element};
    enqueue(TableSums<MomentsRow<kDebiasesMoments>>{moments, table, sums}, stream,
            "LAMB's first pass");
    enqueue(
        TensorTotals<2, LambRatio>{
            sums, table, {lamb_step(scalars), scalars.norm_limit, ratios, factors}},
        stream, "LAMB's ratios");
    const StepRow<kDebiasesMoments> step{.p = all.parameters.data(),
                                         .m = all.first_moment.data(),
                                         .v = all.second_moment.data(),
                                         .scalars = scalars.element,
                                         .factors = factors};
    enqueue(TableElements<StepRow<kDebiasesMoments>>{step, table}, stream, "LAMB's second pass");
}

}  // namespace

std::size_t lamb_workspace_bytes(const DeviceTable& table) {
    return table_workspace_bytes<2, float>(table);
}

void lamb(const DeviceLambVectors& vectors, const DeviceTable& table, const LambScalars& scalars,
          DeviceSpan<double> ratios, DeviceSpan<std::byte> workspace, StreamView stream) {
    const auto& [p, m, v, gradient] = vectors;
    require_lamb({p.addresses(), m.addresses(), v.addresses(), gradient.addresses()}, table.end,
                 scalars);
    require_results(ratios.size(), table.tensors.size());
    require_apart(workspace, p, m, v, gradient, ratios, table.segments, table.tensors);
    double* const sums = doubles_of(workspace, lamb_workspace_bytes(table));
    const TableView view = view_of(table, p, m, v, gradient);
    double* const wanted = ratios.empty() ? nullptr : ratios.data();
    if (scalars.variant == LambVariant::kMomentsDebiased) {
        update<true>(vectors, view, scalars, wanted, sums, stream);
    } else {
        update<false>(vectors, view, scalars, wanted, sums, stream);
    }
}

}  // namespace dedloc::kernels::cuda
