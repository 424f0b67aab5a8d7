// Quantizing and dequantizing on a device gives the same bits as on the host.
#include <catch2/catch.hpp>
#include <limits>

#include "kernels/cuda/dequantize.hpp"
#include "kernels/cuda/quantize.hpp"
#include "kernels/dequantize.hpp"
#include "kernels/quantize.hpp"
#include "tests/kernels/cuda/device.hpp"
#include "tests/kernels/cuda/same.hpp"
#include "tests/kernels/inputs.hpp"

using namespace dedloc;
using namespace dedloc::tests;

namespace {

using Floats = std::vector<float>;

/// Finite floats with random bits, and adversarial ones.
Floats any_finite(std::uint64_t seed, std::size_t count) {
    Floats values = adversarial(Random{seed}, count, 1e38);
    Random random{seed + 1};
    for (std::size_t i = 0; i < count; i += 2) {
        const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
        values[i] = kernels::is_finite(value) ? value : 0.0f;
    }
    return values;
}

/// Blocks of 64 values of similar magnitude, so that all int8 codes occur.
Floats any_blocks(std::uint64_t seed, std::size_t count) {
    Random random{seed};
    Floats values(count);
    float size = 1;
    for (std::size_t i = 0; i < count; ++i) {
        if (i % 64 == 0) {
            const auto exponent = static_cast<std::uint32_t>(random.below(254));
            size = std::bit_cast<float>(exponent << 23);
        }
        values[i] = size * static_cast<float>(random.uniform() - 0.5);
    }
    return values;
}

template <class Short>
void check_short(const Floats& values, const Floats& error, std::size_t offset, Device& device) {
    const std::size_t count = values.size();
    std::vector<Short> expected(count);
    const bool is_finite = kernels::quantize(values, expected);
    const Array<float> input{values, device, offset};
    const Array<Short> out{std::vector<Short>(count), device, offset};
    const Flag flag{device};
    kernels::cuda::quantize(input, out.span(), flag, device.stream());
    CHECK(different(out.values(), expected) == 0);
    CHECK(flag.is_raised() == is_finite);

    const Flag fed{device};
    Floats expected_error = error;
    CHECK(kernels::quantize_with_feedback(values, expected_error, expected));
    const Array<float> errors{error, device, offset};
    kernels::cuda::quantize_with_feedback(input, errors, out.span(), fed, device.stream());
    CHECK(different(out.values(), expected) == 0);
    CHECK(different(errors.values(), expected_error) == 0);
    CHECK(fed.is_raised());

    Floats expected_values(count);
    CHECK(kernels::dequantize(expected, expected_values));
    const Array<float> decoded{Floats(count, 7.0f), device, offset};
    kernels::cuda::dequantize(DeviceSpan<const Short>{out}, decoded, fed, device.stream());
    CHECK(different(decoded.values(), expected_values) == 0);
    CHECK(fed.is_raised());
}

struct HostInt8 {
    std::vector<std::int8_t> codes;
    std::vector<std::uint8_t> exponents;
    explicit HostInt8(std::size_t count)
        : codes(count), exponents(kernels::int8_block_count(count)) {}
    kernels::Int8Blocks blocks() { return {codes, exponents}; }
};

void check_int8(const Floats& values, const Floats& error, std::size_t offset, Device& device) {
    const std::size_t count = values.size();
    HostInt8 expected{count};
    CHECK(kernels::quantize(values, expected.blocks()));
    const Array<float> input{values, device, offset};
    const Array<std::int8_t> codes{std::vector<std::int8_t>(count), device, offset};
    const Array<std::uint8_t> exponents{std::vector<std::uint8_t>(kernels::int8_block_count(count)),
                                        device, offset};
    const Flag flag{device};
    kernels::cuda::quantize(input, {codes, exponents}, flag, device.stream());
    CHECK(different(codes.values(), expected.codes) == 0);
    CHECK(different(exponents.values(), expected.exponents) == 0);

    Floats expected_error = error;
    CHECK(kernels::quantize_with_feedback(values, expected_error, expected.blocks()));
    const Array<float> errors{error, device, offset};
    kernels::cuda::quantize_with_feedback(input, errors, {codes, exponents}, flag, device.stream());
    CHECK(different(codes.values(), expected.codes) == 0);
    CHECK(different(exponents.values(), expected.exponents) == 0);
    CHECK(different(errors.values(), expected_error) == 0);

    Floats expected_values(count);
    CHECK(kernels::dequantize({expected.codes, expected.exponents}, expected_values));
    const Array<float> decoded{Floats(count, 7.0f), device, offset};
    kernels::cuda::dequantize({codes, exponents}, decoded, flag, device.stream());
    CHECK(different(decoded.values(), expected_values) == 0);
    CHECK(flag.is_raised());
}

}  // namespace

TEST_CASE("codes and errors have the host's bits on a device", "[cuda]") {
    Device device;
    for (const std::size_t count : device_sizes()) {
        for (const std::size_t offset : {0u, 2u}) {
            INFO(count << " elements, offset " << offset);
            const Floats error = adversarial(Random{9}, count, 1e-3);
            Floats values = any_finite(count, count);
            for (float& value : values) value = std::abs(value) > 3e38f ? 1.0f : value;
            check_short<kernels::Half>(values, error, offset, device);
            check_short<kernels::Bfloat16>(values, error, offset, device);
            check_int8(values, error, offset, device);
            check_int8(any_blocks(count, count), Floats(count), offset, device);
        }
    }
}

TEST_CASE("a device decodes arbitrary bytes as the host does", "[cuda]") {
    Device device;
    constexpr std::size_t kCount = 65'536;
    std::vector<kernels::Half> half(kCount);
    std::vector<kernels::Bfloat16> bfloat(kCount);
    HostInt8 int8{kCount};
    for (std::size_t i = 0; i < kCount; ++i) {
        // NaNs are left out, because their bits differ between machines.
        const auto bits = static_cast<std::uint16_t>(i);
        half[i].bits = (bits & 0x7fff) > 0x7c00 ? std::uint16_t{0x7c00} : bits;
        bfloat[i].bits = (bits & 0x7fff) > 0x7f80 ? std::uint16_t{0xff80} : bits;
        int8.codes[i] = static_cast<std::int8_t>(i % 255 + 1);
        int8.exponents[i / 64] = static_cast<std::uint8_t>(i / 64);
    }
    for (std::size_t i = 255; i < kCount; i += 256) int8.codes[i] = -128;
    for (std::int8_t& code : int8.codes) code = code == 0 ? std::int8_t{1} : code;
    Floats expected(kCount);
    const Array<float> out{Floats(kCount), device};
    const auto check = [&](const auto& enqueue) {
        const Flag flag{device};
        enqueue(flag);
        CHECK(different(out.values(), expected) == 0);
        CHECK_FALSE(flag.is_raised());
    };
    CHECK_FALSE(kernels::dequantize(half, expected));
    const Array<kernels::Half> half_there{half, device};
    check([&](const Flag& flag) {
        kernels::cuda::dequantize(DeviceSpan<const kernels::Half>{half_there}, out, flag,
                                  device.stream());
    });
    CHECK_FALSE(kernels::dequantize(bfloat, expected));
    const Array<kernels::Bfloat16> bfloat_there{bfloat, device};
    check([&](const Flag& flag) {
        kernels::cuda::dequantize(DeviceSpan<const kernels::Bfloat16>{bfloat_there}, out, flag,
                                  device.stream());
    });
    CHECK_FALSE(kernels::dequantize({int8.codes, int8.exponents}, expected));
    const Array<std::int8_t> codes{int8.codes, device};
    const Array<std::uint8_t> exponents{int8.exponents, device};
    check([&](const Flag& flag) {
        kernels::cuda::dequantize({codes, exponents}, out, flag, device.stream());
    });
}

TEST_CASE("quantizing a value that is not finite clears the flag on a device", "[cuda]") {
    Device device;
    for (const float bad :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        for (const std::size_t place : {0u, 4097u, 4999u}) {
            Floats values(5000, 1.0f);
            values[place] = bad;
            const Array<float> input{values, device};
            const Array<kernels::Half> half{std::vector<kernels::Half>(5000), device};
            const Array<std::int8_t> codes{std::vector<std::int8_t>(5000), device};
            const Array<std::uint8_t> exponents{std::vector<std::uint8_t>(79), device};
            const Flag of_half{device};
            const Flag of_int8{device};
            kernels::cuda::quantize(input, half.span(), of_half, device.stream());
            kernels::cuda::quantize(input, {codes, exponents}, of_int8, device.stream());
            CHECK_FALSE(of_half.is_raised());
            CHECK_FALSE(of_int8.is_raised());
        }
    }
}
