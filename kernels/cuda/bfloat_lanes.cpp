#include "kernels/cuda/bfloat_lanes.hpp"

#include "kernels/cuda/short_launch.hpp"

namespace dedloc::kernels::cuda {

void shorten_to_bfloats(DeviceSpan<const float> values, DeviceSpan<const float> owed,
                        DeviceSpan<Bfloat16> out, DeviceFlag is_finite, StreamView stream) {
    constexpr const char* kWhat = "rounding to bfloats";
    require_quantize<Bfloat16>(values.addresses(), owed.addresses(), out.addresses());
    require_flag(is_finite);
    const Rounding<Bfloat16> rounding{.values = values.data(),
                                      .owed = owed.data(),
                                      .out = out.data(),
                                      .addend = 0,
                                      .is_finite = is_finite.data()};
    if (owed.empty()) {
        return enqueue_rounding<Input::kScaled, true, false>(rounding, out.size(), stream, kWhat);
    }
    require_errors(values, owed);
    enqueue_rounding<Input::kScaledOwed, true, false>(rounding, out.size(), stream, kWhat);
}

void keep_bfloat_errors(DeviceSpan<const float> values, DeviceSpan<float> error,
                        DeviceFlag is_finite, StreamView stream) {
    require_errors(values, error);
    require_flag(is_finite);
    enqueue_rounding<Input::kScaledOwed, false, true>(
        Rounding<Bfloat16>{.values = values.data(),
                           .owed = error.data(),
                           .error = error.data(),
                           .is_finite = is_finite.data()},
        error.size(), stream, "keeping rounding errors");
}

void add_bfloats(DeviceSpan<const Bfloat16> values, DeviceSpan<float> sum, DeviceFlag is_finite,
                 StreamView stream) {
    require_dequantize<Bfloat16>(values.addresses(), sum.addresses());
    require_flag(is_finite);
    enqueue_widening<Widened::kScaledAndAdded>(
        Widening<Bfloat16>{
            .values = values.data(), .out = sum.data(), .is_finite = is_finite.data()},
        sum.size(), stream, "adding bfloats");
}

}  // namespace dedloc::kernels::cuda
