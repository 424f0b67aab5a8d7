#include "kernels/cuda/lamb.hpp"

#include "kernels/cuda/enqueue.hpp"
#include "kernels/cuda/lamb_body.hpp"
#include "kernels/requirements.hpp"

namespace dedloc::kernels::cuda {
namespace {

template <bool kDebiasesMoments, bool kIsAligned>
void update(const DeviceLambTensor& t, const LambScalars& scalars, const float* clip_factor,
            double* ratio, double* sums, StreamView stream) {
    using Moments = MomentsRow<kDebiasesMoments, kIsAligned>;
    using Step = StepRow<kDebiasesMoments, kIsAligned>;
    const std::size_t count = t.parameters.size();
    const std::size_t segments = segment_count(count);
    // The factor is stored after the sums.
    auto* const factor = static_cast<float*>(static_cast<void*>(sums + 2 * segments));
    const Moments moments{t.parameters.data(), t.first_moment.data(), t.second_moment.data(),
                          t.gradient.data(),   scalars.element,       clip_factor};
    enqueue(SegmentSums<Moments>{moments, count, sums}, stream, "LAMB's first pass");
    enqueue(
        TotalSums<2, LambRatio>{
            sums, segments, {scalars.step_size, scalars.norm_limit, scalars.adapts, ratio, factor}},
        stream, "LAMB's ratio");
    const Step step{.p = t.parameters.data(),
                    .m = t.first_moment.data(),
                    .v = t.second_moment.data(),
                    .scalars = scalars.element,
                    .factor_of_all = factor};
    enqueue(EachElement<Step>{step, count}, stream, "LAMB's second pass");
}

}  // namespace

std::size_t lamb_workspace_bytes(std::size_t count) {
    return sums_bytes<2>(count) + sizeof(double);
}

void lamb(const DeviceLambTensor& tensor, const LambScalars& scalars,
          DeviceSpan<const float> clip_factor, DeviceSpan<double> ratio,
          DeviceSpan<std::byte> workspace, StreamView stream) {
    const auto& [p, m, v, gradient] = tensor;
    require_lamb(p.addresses(), m.addresses(), v.addresses(), gradient.addresses(), scalars);
    require_apart(workspace, p, m, v, gradient, clip_factor, ratio);
    const float* const clip = scalar_or_null(clip_factor);
    double* const wanted = scalar_or_null(ratio);
    double* const sums = doubles_of(workspace, lamb_workspace_bytes(p.size()));
    const bool debiases = scalars.variant == LambVariant::kMomentsDebiased;
    for_alignment(
        [&](auto is_aligned) {
            constexpr bool kIsAligned = decltype(is_aligned)::value;
            if (debiases) {
                update<true, kIsAligned>(tensor, scalars, clip, wanted, sums, stream);
            } else {
                update<false, kIsAligned>(tensor, scalars, clip, wanted, sums, stream);
            }
        },
        p, m, v, gradient);
}

}  // namespace dedloc::kernels::cuda
