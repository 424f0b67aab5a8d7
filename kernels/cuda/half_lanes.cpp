#include "kernels/cuda/half_lanes.hpp"

#include "kernels/cuda/short_launch.hpp"

namespace dedloc::kernels::cuda {
namespace {

template <Widened kUse>
void widen(DeviceSpan<const Half> values, float scale, DeviceSpan<float> out, DeviceFlag is_finite,
           StreamView stream) {
    require_dequantize<Half>(values.addresses(), out.addresses());
    require_flag(is_finite);
    enqueue_widening<kUse>(Widening<Half>{.values = values.data(),
                                          .out = out.data(),
                                          .scale = scale,
                                          .is_finite = is_finite.data()},
                           out.size(), stream, "decoding halves");
}

}  // namespace

void shorten_to_halves(const DeviceUnrounded& x, DeviceSpan<Half> out, DeviceFlag is_finite,
                       StreamView stream) {
    constexpr const char* kWhat = "rounding to halves";
    require_quantize<Half>(x.values.addresses(), x.owed.addresses(), out.addresses());
    require_flag(is_finite);
    const Rounding<Half> rounding{.values = x.values.data(),
                                  .owed = x.owed.data(),
                                  .out = out.data(),
                                  .scale = x.scale,
                                  .addend = x.addend,
                                  .is_finite = is_finite.data()};
    if (x.owed.empty()) {
        return enqueue_rounding<Input::kScaled, true, false>(rounding, out.size(), stream, kWhat);
    }
    require_errors(x.values, x.owed);
    enqueue_rounding<Input::kScaledOwed, true, false>(rounding, out.size(), stream, kWhat);
}

void keep_half_errors(DeviceSpan<const float> values, float scale, DeviceSpan<float> error,
                      DeviceFlag is_finite, StreamView stream) {
    require_errors(values, error);
    require_flag(is_finite);
    DEDLOC_KERNEL_REQUIRE(scale >= 0x1p-126F && scale <= 0x1p126F,
                          "the scale of halves and its inverse must be normal",
                          static_cast<double>(scale));
    enqueue_rounding<Input::kScaledOwed, false, true>(Rounding<Half>{.values = values.data(),
                                                                     .owed = error.data(),
                                                                     .error = error.data(),
                                                                     .scale = scale,
                                                                     .inverse_scale = 1 / scale,
                                                                     .is_finite = is_finite.data()},
                                                      error.size(), stream,
                                                      "keeping rounding errors");
}

void widen_halves(DeviceSpan<const Half> values, float scale, DeviceSpan<float> out,
                  DeviceFlag is_finite, StreamView stream) {
    widen<Widened::kScaled>(values, scale, out, is_finite, stream);
}

void add_halves(DeviceSpan<const Half> values, float scale, DeviceSpan<float> sum,
                DeviceFlag is_finite, StreamView stream) {
    widen<Widened::kScaledAndAdded>(values, scale, sum, is_finite, stream);
}

}  // namespace dedloc::kernels::cuda
