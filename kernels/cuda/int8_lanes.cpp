#include "kernels/cuda/int8_lanes.hpp"

#include "kernels/cuda/short_launch.hpp"

namespace dedloc::kernels::cuda {
namespace {

void require_bound(std::uint32_t max_exponent) {
    DEDLOC_KERNEL_REQUIRE(max_exponent >= kInt8MinBound && max_exponent <= kInt8MaxExponent,
                          "the bound of int8 exponents is out of range",
                          static_cast<double>(max_exponent));
}

}  // namespace

void shorten_to_int8(const DeviceUnquantized& x, DeviceInt8Blocks out, DeviceFlag is_finite,
                     StreamView stream) {
    constexpr const char* kWhat = "encoding int8";
    require_quantize(x.values.addresses(), x.owed.addresses(),
                     {out.codes.addresses(), out.exponents.addresses()});
    require_flag(is_finite);
    require_bound(x.max_exponent);
    const Int8Encoding encoding{.values = x.values.data(),
                                .owed = x.owed.data(),
                                .codes = out.codes.data(),
                                .exponents = out.exponents.data(),
                                .max_exponent = x.max_exponent,
                                .is_finite = is_finite.data(),
                                .count = x.values.size()};
    if (x.owed.empty()) return enqueue_encoding<false, true, false>(encoding, stream, kWhat);
    require_errors(x.values, x.owed);
    enqueue_encoding<true, true, false>(encoding, stream, kWhat);
}

void keep_int8_errors(DeviceSpan<const float> values, DeviceSpan<float> error,
                      std::uint32_t max_exponent, DeviceFlag is_finite, StreamView stream) {
    require_errors(values, error);
    require_flag(is_finite);
    require_bound(max_exponent);
    enqueue_encoding<true, false, true>(Int8Encoding{.values = values.data(),
                                                     .owed = error.data(),
                                                     .error = error.data(),
                                                     .max_exponent = max_exponent,
                                                     .is_finite = is_finite.data(),
                                                     .count = values.size()},
                                        stream, "keeping rounding errors");
}

void add_int8(ConstDeviceInt8Blocks values, DeviceSpan<float> sum, DeviceFlag is_finite,
              StreamView stream) {
    require_dequantize({values.codes.addresses(), values.exponents.addresses()}, sum.addresses());
    require_flag(is_finite);
    enqueue_widening<true>(Int8Widening{.codes = values.codes.data(),
                                        .exponents = values.exponents.data(),
                                        .out = sum.data(),
                                        .is_finite = is_finite.data()},
                           sum.size(), stream, "adding int8");
}

}  // namespace dedloc::kernels::cuda
