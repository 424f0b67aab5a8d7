#include "kernels/cuda/quantize.hpp"

#include "kernels/cuda/enqueue.hpp"
#include "kernels/cuda/quantize_body.hpp"
#include "kernels/requirements.hpp"

namespace dedloc::kernels::cuda {
namespace {

template <class Short, bool kFeedback>
void shorten_all(DeviceSpan<const float> values, DeviceSpan<float> error, DeviceSpan<Short> out,
                 DeviceFlag is_finite, StreamView stream) {
    require_quantize<Short>(values.addresses(), error.addresses(), out.addresses());
    require_flag(is_finite);
    for_alignment(
        [&](auto is_aligned) {
            using Row = ShortenRow<Short, kFeedback, decltype(is_aligned)::value>;
            const Row row{values.data(), error.data(), out.data(), is_finite.data()};
            enqueue(EachElement<Row>{row, values.size()}, stream, "quantizing");
        },
        values, error, out);
}

template <bool kFeedback>
void encode_all(DeviceSpan<const float> values, DeviceSpan<float> error, DeviceInt8Blocks out,
                DeviceFlag is_finite, StreamView stream) {
    require_quantize(values.addresses(), error.addresses(),
                     {out.codes.addresses(), out.exponents.addresses()});
    require_flag(is_finite);
    for_alignment(
        [&](auto is_aligned) {
            using Body = EncodeInt8Body<kFeedback, decltype(is_aligned)::value>;
            enqueue(Body{values.data(), error.data(), out.codes.data(), out.exponents.data(),
                         is_finite.data(), values.size()},
                    stream, "quantizing");
        },
        values, error, out.codes);
}

}  // namespace

void quantize(DeviceSpan<const float> values, DeviceSpan<Half> out, DeviceFlag is_finite,
              StreamView stream) {
    shorten_all<Half, false>(values, {}, out, is_finite, stream);
}

void quantize(DeviceSpan<const float> values, DeviceSpan<Bfloat16> out, DeviceFlag is_finite,
              StreamView stream) {
    shorten_all<Bfloat16, false>(values, {}, out, is_finite, stream);
}

void quantize(DeviceSpan<const float> values, DeviceInt8Blocks out, DeviceFlag is_finite,
              StreamView stream) {
    encode_all<false>(values, {}, out, is_finite, stream);
}

void quantize_with_feedback(DeviceSpan<const float> values, DeviceSpan<float> error,
                            DeviceSpan<Half> out, DeviceFlag is_finite, StreamView stream) {
    require_feedback(values.addresses(), error.addresses());
    shorten_all<Half, true>(values, error, out, is_finite, stream);
}

void quantize_with_feedback(DeviceSpan<const float> values, DeviceSpan<float> error,
                            DeviceSpan<Bfloat16> out, DeviceFlag is_finite, StreamView stream) {
    require_feedback(values.addresses(), error.addresses());
    shorten_all<Bfloat16, true>(values, error, out, is_finite, stream);
}

void quantize_with_feedback(DeviceSpan<const float> values, DeviceSpan<float> error,
                            DeviceInt8Blocks out, DeviceFlag is_finite, StreamView stream) {
    require_feedback(values.addresses(), error.addresses());
    encode_all<true>(values, error, out, is_finite, stream);
}

}  // namespace dedloc::kernels::cuda
