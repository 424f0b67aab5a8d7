#include "kernels/cuda/accumulate.hpp"

#include "kernels/cuda/accumulate_body.hpp"
#include "kernels/cuda/enqueue.hpp"
#include "kernels/requirements.hpp"

namespace dedloc::kernels::cuda {
namespace {

template <class Element>
void accumulate_any(DeviceSpan<float> sum, DeviceSpan<const Element> gradient, float scale,
                    DeviceSpan<double> sum_of_squares, DeviceFlag is_finite,
                    DeviceSpan<std::byte> workspace, StreamView stream) {
    require_accumulate<Element>(sum.addresses(), gradient.addresses(), scale);
    require_scalar(sum_of_squares);
    require_flag(is_finite);
    require_apart(workspace, sum, gradient, sum_of_squares, is_finite);
    double* const sums = doubles_of(workspace, accumulate_workspace_bytes(sum.size()));
    for_alignment(
        [&](auto is_aligned) {
            using Row = AccumulateRow<Element, decltype(is_aligned)::value>;
            const Row row{sum.data(), gradient.data(), scale, is_finite.data()};
            enqueue(SegmentSums<Row>{row, sum.size(), sums}, stream, "accumulating");
        },
        sum, gradient);
    enqueue(TotalSums<1, StoreTotal>{sums, segment_count(sum.size()), {sum_of_squares.data()}},
            stream, "adding up squares");
}

}  // namespace

std::size_t accumulate_workspace_bytes(std::size_t count) {
    return sums_bytes<1>(count);
}

void accumulate(DeviceSpan<float> sum, DeviceSpan<const float> gradient, float scale,
                DeviceSpan<double> sum_of_squares, DeviceFlag is_finite,
                DeviceSpan<std::byte> workspace, StreamView stream) {
    accumulate_any(sum, gradient, scale, sum_of_squares, is_finite, workspace, stream);
}

void accumulate(DeviceSpan<float> sum, DeviceSpan<const Half> gradient, float scale,
                DeviceSpan<double> sum_of_squares, DeviceFlag is_finite,
                DeviceSpan<std::byte> workspace, StreamView stream) {
    accumulate_any(sum, gradient, scale, sum_of_squares, is_finite, workspace, stream);
}

void accumulate(DeviceSpan<float> sum, DeviceSpan<const Bfloat16> gradient, float scale,
                DeviceSpan<double> sum_of_squares, DeviceFlag is_finite,
                DeviceSpan<std::byte> workspace, StreamView stream) {
    accumulate_any(sum, gradient, scale, sum_of_squares, is_finite, workspace, stream);
}

}  // namespace dedloc::kernels::cuda
