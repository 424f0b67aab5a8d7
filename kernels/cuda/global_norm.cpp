#include "kernels/cuda/global_norm.hpp"

#include "kernels/cuda/enqueue.hpp"
#include "kernels/cuda/global_norm_body.hpp"
#include "kernels/requirements.hpp"

namespace dedloc::kernels::cuda {
std::size_t norm_workspace_bytes(std::size_t count) {
    return sums_bytes<1>(count);
}

void global_norm(DeviceSpan<const float> values, DeviceSpan<double> norm,
                 DeviceSpan<std::byte> workspace, StreamView stream) {
    require_length(values.size());
    require_scalar(norm);
    require_apart(workspace, values, norm);
    double* const sums = doubles_of(workspace, norm_workspace_bytes(values.size()));
    for_alignment(
        [&](auto is_aligned) {
            using Row = SquaresRow<decltype(is_aligned)::value>;
            enqueue(SegmentSums<Row>{{values.data()}, values.size(), sums}, stream,
                    "adding squares");
        },
        values);
    enqueue(TotalSums<1, StoreRoot>{sums, segment_count(values.size()), {norm.data()}}, stream,
            "adding up squares");
}

}  // namespace dedloc::kernels::cuda
