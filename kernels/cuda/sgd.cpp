#include "kernels/cuda/sgd.hpp"

#include "kernels/cuda/enqueue.hpp"
#include "kernels/cuda/sgd_body.hpp"
#include "kernels/requirements.hpp"

namespace dedloc::kernels::cuda {
namespace {

template <bool kIsAligned>
void update(const DeviceSgdTensor& t, const SgdScalars& scalars, const float* clip_factor,
            float* rate, double* sums, StreamView stream) {
    const std::size_t count = t.parameters.size();
    const std::size_t segments = scalars.trust > 0 ? segment_count(count) : 0;
    // The factors are stored after the sums.
    auto* const factors = static_cast<LarcFactors*>(static_cast<void*>(sums + 2 * segments));
    if (scalars.trust > 0) {
        using Row = LarcRow<kIsAligned>;
        const Row row{t.parameters.data(), t.gradient.data(), clip_factor,
                      scalars.element.clip_factor};
        enqueue(SegmentSums<Row>{row, count, sums}, stream, "LARC's norms");
    }
    enqueue(TotalSums<2, LarcRate>{sums,
                                   segments,
                                   {scalars.trust, scalars.epsilon, scalars.element.weight_decay,
                                    rate, factors}},
            stream, "LARC's rate");
    const MomentumRow<kIsAligned> row{.p = t.parameters.data(),
                                      .b = t.momentum.data(),
                                      .gradient = t.gradient.data(),
                                      .scalars = scalars.element,
                                      .clip_factor = clip_factor,
                                      .factors = factors};
    enqueue(EachElement<MomentumRow<kIsAligned>>{row, count}, stream, "SGD's step");
}

}  // namespace

std::size_t sgd_workspace_bytes(std::size_t count) {
    return sums_bytes<2>(count) + sizeof(LarcFactors);
}

void sgd(const DeviceSgdTensor& tensor, const SgdScalars& scalars,
         DeviceSpan<const float> clip_factor, DeviceSpan<float> rate,
         DeviceSpan<std::byte> workspace, StreamView stream) {
    const auto& [p, b, gradient] = tensor;
    require_sgd(p.addresses(), b.addresses(), gradient.addresses(), scalars);
    require_apart(workspace, p, b, gradient, clip_factor, rate);
    const float* const clip = scalar_or_null(clip_factor);
    float* const wanted = scalar_or_null(rate);
    double* const sums = doubles_of(workspace, sgd_workspace_bytes(p.size()));
    for_alignment(
        [&](auto is_aligned) {
            update<decltype(is_aligned)::value>(tensor, scalars, clip, wanted, sums, stream);
        },
        p, b, gradient);
}

}  // namespace dedloc::kernels::cuda
