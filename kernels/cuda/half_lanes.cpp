#include "kernels/cuda/half_lanes.hpp"

#include "kernels/cuda/enqueue.hpp"
#include "kernels/cuda/half_lanes_body.hpp"

namespace dedloc::kernels::cuda {
namespace {

/// Aborts unless both have one length and do not overlap.
template <class A, class B>
void require_pair(DeviceSpan<A> a, DeviceSpan<B> b) {
    DEDLOC_KERNEL_REQUIRE(a.size() == b.size(), "values and halves must have one length",
                          static_cast<double>(a.size()), static_cast<double>(b.size()));
    DEDLOC_KERNEL_REQUIRE(!overlap(a.addresses(), b.addresses()), "values and halves overlap");
}

template <bool kAdds>
void shorten(const DeviceUnrounded& x, DeviceSpan<Half> out, DeviceFlag is_finite,
             StreamView stream) {
    for_alignment(
        [&](auto is_aligned) {
            using Row = RoundRow<kAdds, false, decltype(is_aligned)::value>;
            const Row row{.values = x.values.data(),
                          .owed = x.owed.data(),
                          .out = out.data(),
                          .error = nullptr,
                          .scale = x.scale,
                          .inverse_scale = 1,
                          .addend = x.addend,
                          .is_finite = is_finite.data()};
            enqueue(EachElement<Row>{row, out.size()}, stream, "rounding to halves");
        },
        x.values, x.owed, out);
}

template <bool kAdds>
void widen(DeviceSpan<const Half> values, float scale, DeviceSpan<float> out, DeviceFlag is_finite,
           StreamView stream) {
    require_pair(values, out);
    require_flag(is_finite);
    for_alignment(
        [&](auto is_aligned) {
            using Row = ScaledRow<kAdds, decltype(is_aligned)::value>;
            const Row row{values.data(), scale, out.data(), is_finite.data()};
            enqueue(EachElement<Row>{row, out.size()}, stream, "decoding halves");
        },
        values, out);
}

}  // namespace

void shorten_to_halves(const DeviceUnrounded& x, DeviceSpan<Half> out, DeviceFlag is_finite,
                       StreamView stream) {
    require_pair(x.values, out);
    require_flag(is_finite);
    if (x.owed.empty()) return shorten<false>(x, out, is_finite, stream);
    require_pair(x.owed, out);
    shorten<true>(x, out, is_finite, stream);
}

void keep_half_errors(DeviceSpan<const float> values, float scale, DeviceSpan<float> error,
                      DeviceFlag is_finite, StreamView stream) {
    require_pair(values, error);
    require_flag(is_finite);
    DEDLOC_KERNEL_REQUIRE(scale >= 0x1p-126F && scale <= 0x1p126F,
                          "the scale of halves and its inverse must be normal",
                          static_cast<double>(scale));
    for_alignment(
        [&](auto is_aligned) {
            using Row = RoundRow<true, true, decltype(is_aligned)::value>;
            const Row row{.values = values.data(),
                          .owed = error.data(),
                          .out = nullptr,
                          .error = error.data(),
                          .scale = scale,
                          .inverse_scale = 1 / scale,
                          .addend = 0,
                          .is_finite = is_finite.data()};
            enqueue(EachElement<Row>{row, error.size()}, stream, "keeping rounding errors");
        },
        values, error);
}

void widen_halves(DeviceSpan<const Half> values, float scale, DeviceSpan<float> out,
                  DeviceFlag is_finite, StreamView stream) {
    widen<false>(values, scale, out, is_finite, stream);
}

void add_halves(DeviceSpan<const Half> values, float scale, DeviceSpan<float> sum,
                DeviceFlag is_finite, StreamView stream) {
    widen<true>(values, scale, sum, is_finite, stream);
}

}  // namespace dedloc::kernels::cuda
