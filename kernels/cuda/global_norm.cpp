#include "kernels/cuda/global_norm.hpp"

#include "kernels/cuda/enqueue.hpp"
#include "kernels/cuda/global_norm_body.hpp"
#include "kernels/requirements.hpp"

namespace dedloc::kernels::cuda {
namespace {

template <class Finish>
void sum_squares(DeviceSpan<const float> values, DeviceSpan<double> result, const Finish& finish,
                 DeviceSpan<std::byte> workspace, StreamView stream) {
    require_length(values.size());
    require_scalar(result);
    require_apart(workspace, values, result);
    double* const sums = doubles_of(workspace, norm_workspace_bytes(values.size()));
    for_alignment(
        [&](auto is_aligned) {
            using Row = SquaresRow<decltype(is_aligned)::value>;
            enqueue(SegmentSums<Row>{{values.data()}, values.size(), sums}, stream,
                    "adding squares");
        },
        values);
    enqueue(TotalSums<1, Finish>{sums, segment_count(values.size()), finish}, stream,
            "adding up squares");
}

}  // namespace

std::size_t norm_workspace_bytes(std::size_t count) {
    return sums_bytes<1>(count);
}

void sum_of_squares(DeviceSpan<const float> values, DeviceSpan<double> sum,
                    DeviceSpan<std::byte> workspace, StreamView stream) {
    sum_squares(values, sum, StoreTotal{sum.data()}, workspace, stream);
}

void global_norm(DeviceSpan<const float> values, DeviceSpan<double> norm,
                 DeviceSpan<std::byte> workspace, StreamView stream) {
    sum_squares(values, norm, StoreRoot{norm.data()}, workspace, stream);
}

void clip_factor(DeviceSpan<const double> norm, float limit, DeviceSpan<float> factor,
                 StreamView stream) {
    require_scalar(norm);
    require_scalar(factor);
    require_norm_limit(limit);
    enqueue(ClipFactorBody{norm.data(), limit, factor.data()}, stream, "taking a clip factor");
}

void clip(DeviceSpan<float> values, DeviceSpan<const float> factor, StreamView stream) {
    require_scalar(factor);
    DEDLOC_KERNEL_REQUIRE(!overlap(values.addresses(), factor.addresses()),
                          "a clip factor lies among the values");
    for_alignment(
        [&](auto is_aligned) {
            using Row = ScaleRow<decltype(is_aligned)::value>;
            const Row row{.values = values.data(), .factor_of_all = factor.data()};
            enqueue(EachElement<Row>{row, values.size()}, stream, "clipping");
        },
        values);
}

}  // namespace dedloc::kernels::cuda
