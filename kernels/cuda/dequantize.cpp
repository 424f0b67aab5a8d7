#include "kernels/cuda/dequantize.hpp"

#include "kernels/cuda/dequantize_body.hpp"
#include "kernels/cuda/enqueue.hpp"
#include "kernels/requirements.hpp"

namespace dedloc::kernels::cuda {
namespace {

template <class Short>
void widen_shorts(DeviceSpan<const Short> values, DeviceSpan<float> out, DeviceFlag is_finite,
                  StreamView stream) {
    require_dequantize<Short>(values.addresses(), out.addresses());
    require_flag(is_finite);
    for_alignment(
        [&](auto is_aligned) {
            using Row = WidenRow<Short, decltype(is_aligned)::value>;
            const Row row{values.data(), out.data(), is_finite.data()};
            enqueue(EachElement<Row>{row, out.size()}, stream, "dequantizing");
        },
        values, out);
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
    for_alignment(
        [&](auto is_aligned) {
            using Row = WidenInt8Row<decltype(is_aligned)::value>;
            const Row row{values.codes.data(), values.exponents.data(), out.data(),
                          is_finite.data()};
            enqueue(EachElement<Row>{row, out.size()}, stream, "dequantizing");
        },
        values.codes, out);
}

}  // namespace dedloc::kernels::cuda
