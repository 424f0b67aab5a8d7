#include "kernels/cuda/quantize.hpp"

#include "kernels/cuda/short_launch.hpp"
#include "kernels/int8_lanes.hpp"

namespace dedloc::kernels::cuda {
namespace {

constexpr const char* kWhat = "quantizing";

template <class Short>
void shorten_all(DeviceSpan<const float> values, DeviceSpan<float> error, DeviceSpan<Short> out,
                 DeviceFlag is_finite, StreamView stream) {
    require_quantize<Short>(values.addresses(), error.addresses(), out.addresses());
    require_flag(is_finite);
    const Rounding<Short> rounding{.values = values.data(),
                                   .owed = error.data(),
                                   .out = out.data(),
                                   .error = error.data(),
                                   .is_finite = is_finite.data()};
    if (error.empty()) {
        enqueue_rounding<Input::kAsItIs, true, false>(rounding, values.size(), stream, kWhat);
    } else {
        enqueue_rounding<Input::kScaledOwed, true, true>(rounding, values.size(), stream, kWhat);
    }
}

void encode_all(DeviceSpan<const float> values, DeviceSpan<float> error, DeviceInt8Blocks out,
                DeviceFlag is_finite, StreamView stream) {
    require_quantize(values.addresses(), error.addresses(),
                     {out.codes.addresses(), out.exponents.addresses()});
    require_flag(is_finite);
    const Int8Encoding encoding{.values = values.data(),
                                .owed = error.data(),
                                .codes = out.codes.data(),
                                .exponents = out.exponents.data(),
                                .error = error.data(),
                                .max_exponent = kInt8MaxExponent,
                                .is_finite = is_finite.data(),
                                .count = values.size()};
    if (error.empty()) {
        enqueue_encoding<false, true, false>(encoding, stream, kWhat);
    } else {
        enqueue_encoding<true, true, true>(encoding, stream, kWhat);
    }
}

}  // namespace

void quantize(DeviceSpan<const float> values, DeviceSpan<Half> out, DeviceFlag is_finite,
              StreamView stream) {
    shorten_all(values, {}, out, is_finite, stream);
}

void quantize(DeviceSpan<const float> values, DeviceSpan<Bfloat16> out, DeviceFlag is_finite,
              StreamView stream) {
    shorten_all(values, {}, out, is_finite, stream);
}

void quantize(DeviceSpan<const float> values, DeviceInt8Blocks out, DeviceFlag is_finite,
              StreamView stream) {
    encode_all(values, {}, out, is_finite, stream);
}

void quantize_with_feedback(DeviceSpan<const float> values, DeviceSpan<float> error,
                            DeviceSpan<Half> out, DeviceFlag is_finite, StreamView stream) {
    require_feedback(values.addresses(), error.addresses());
    shorten_all(values, error, out, is_finite, stream);
}

void quantize_with_feedback(DeviceSpan<const float> values, DeviceSpan<float> error,
                            DeviceSpan<Bfloat16> out, DeviceFlag is_finite, StreamView stream) {
    require_feedback(values.addresses(), error.addresses());
    shorten_all(values, error, out, is_finite, stream);
}

void quantize_with_feedback(DeviceSpan<const float> values, DeviceSpan<float> error,
                            DeviceInt8Blocks out, DeviceFlag is_finite, StreamView stream) {
    require_feedback(values.addresses(), error.addresses());
    encode_all(values, error, out, is_finite, stream);
}

}  // namespace dedloc::kernels::cuda
