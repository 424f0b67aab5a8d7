#include "kernels/cuda/dequantize.hpp"

#include "kernels/cuda/short_launch.hpp"

namespace dedloc::kernels::cuda {
namespace {

constexpr const char* kWhat = "dequantizing";

template <class Short>
void widen_shorts(DeviceSpan<const Short> values, DeviceSpan<float> out, DeviceFlag is_finite,
                  StreamView stream) {
    require_dequantize<Short>(values.addresses(), out.addresses());
    require_flag(is_finite);
    enqueue_widening<Widened::kAsItIs>(
        Widening<Short>{.values = values.data(), .out = out.data(), .is_finite = is_finite.data()},
        out.size(), stream, kWhat);
}

}  // namespace

void dequantize(DeviceSpan<const Half> values, DeviceSpan<float> out, DeviceFlag is_finite,
                StreamView stream) {
    widen_shorts(values, out, is_finite, stream);
}

void dequantize(DeviceSpan<const Bfloat16> values, DeviceSpan<float> out, DeviceFlag is_finite,
                StreamView stream) {
    widen_shorts(values, out, is_finite, stream);
}

void dequantize(ConstDeviceInt8Blocks values, DeviceSpan<float> out, DeviceFlag is_finite,
                StreamView stream) {
    require_dequantize({values.codes.addresses(), values.exponents.addresses()}, out.addresses());
    require_flag(is_finite);
    enqueue_widening<false>(Int8Widening{.codes = values.codes.data(),
                                         .exponents = values.exponents.data(),
                                         .out = out.data(),
                                         .is_finite = is_finite.data()},
                            out.size(), stream, kWhat);
}

}  // namespace dedloc::kernels::cuda
