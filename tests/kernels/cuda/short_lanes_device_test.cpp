// The round's bf16 and int8 codecs on a device give the same bits as on the host: for a
// contribution with and without a residual, for its rounding errors, and for sums.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "kernels/bfloat_lanes.hpp"
#include "kernels/cuda/bfloat_lanes.hpp"
#include "kernels/cuda/int8_lanes.hpp"
#include "kernels/int8_lanes.hpp"
#include "kernels/quantize.hpp"
#include "tests/kernels/aborts.hpp"
#include "tests/kernels/cuda/device.hpp"
#include "tests/kernels/cuda/same.hpp"
#include "tests/kernels/inputs.hpp"

using namespace dedloc;
using namespace dedloc::tests;
using kernels::Bfloat16;

namespace {

using Floats = std::vector<float>;
using Bfloats = std::vector<Bfloat16>;
using Codes = std::vector<std::int8_t>;
using Bytes = std::vector<std::uint8_t>;

/// Bounds of int8 exponents: the least, one that clips most blocks of `around`, the round's, none.
constexpr std::array kBounds{kernels::kInt8MinBound, 235U, 238U, kernels::kInt8MaxExponent};

kernels::InstructionSet width() {
    return kernels::widest_instruction_set();
}

/// Blocks of 64 values of similar magnitude, from 2⁻¹²⁷ to 2¹²⁶, with −0 and adversarial values.
Floats around(std::uint64_t seed, std::size_t count) {
    Floats values = adversarial(Random{seed}, count, 1e30);
    Random random{seed + 1};
    float size = 1;
    for (std::size_t i = 0; i < count; ++i) {
        if (i % 64 == 0) size = std::bit_cast<float>(std::uint32_t(random.below(254)) << 23);
        if (i % 128 < 96) values[i] = size * static_cast<float>(random.uniform() - 0.5);
        if (i % 67 == 0) values[i] = -0.0F;
    }
    return values;
}

void check_bfloats(const Floats& values, const Floats& owed, std::size_t offset, Device& device) {
    const std::size_t count = values.size();
    const Array<float> input{values, device, offset};
    const Array<float> residual{owed, device, offset};
    const Array<Bfloat16> out{Bfloats(count), device, offset};
    Bfloats expected(count);
    for (const bool adds : {false, true}) {
        const Flag flag{device};
        const std::uint32_t bad = kernels::shorten_to_bfloats(
            width(), values.data(), adds ? owed.data() : nullptr, expected.data(), count);
        kernels::cuda::shorten_to_bfloats(
            input, adds ? DeviceSpan<const float>{residual} : DeviceSpan<const float>{}, out, flag,
            device.stream());
        CHECK(different(out.values(), expected) == 0);
        CHECK(flag.is_raised() == (bad == 0));
    }
    Floats sum = ordinary(Random{count}, count);
    const Array<float> total{sum, device, offset};
    const Flag added{device};
    kernels::add_bfloats(width(), expected.data(), sum.data(), count);
    kernels::cuda::add_bfloats(out, total, added, device.stream());
    CHECK(different(total.values(), sum) == 0);
    CHECK(added.is_raised());

    const Flag kept{device};
    Floats errors = owed;
    const std::uint32_t bad =
        kernels::shorten_keeping_errors(width(), values.data(), errors.data(), nullptr, count);
    kernels::cuda::keep_bfloat_errors(input, residual, kept, device.stream());
    CHECK(different(residual.values(), errors) == 0);
    CHECK(kept.is_raised() == (bad == 0));
}

void check_int8(const Floats& values, const Floats& owed, std::uint32_t bound, std::size_t offset,
                Device& device) {
    const std::size_t count = values.size();
    const std::size_t blocks = kernels::int8_block_count(count);
    const Array<float> input{values, device, offset};
    const Array<float> residual{owed, device, offset};
    const Array<std::int8_t> codes{Codes(count), device, offset};
    const Array<std::uint8_t> exponents{Bytes(blocks), device, offset};
    Codes expected(count);
    Bytes powers(blocks);
    for (const bool adds : {false, true}) {
        const Flag flag{device};
        const std::uint32_t bad = kernels::shorten_to_int8(
            width(),
            {.values = values.data(), .owed = adds ? owed.data() : nullptr, .max_exponent = bound},
            expected.data(), powers.data(), count);
        kernels::cuda::DeviceUnquantized x{.values = input, .max_exponent = bound};
        if (adds) x.owed = residual;
        kernels::cuda::shorten_to_int8(x, {codes, exponents}, flag, device.stream());
        CHECK(different(codes.values(), expected) == 0);
        CHECK(different(exponents.values(), powers) == 0);
        CHECK(flag.is_raised() == (bad == 0));
    }
    Floats sum = ordinary(Random{count}, count);
    const Array<float> total{sum, device, offset};
    const Flag added{device};
    kernels::add_int8(width(), expected.data(), powers.data(), sum.data(), count);
    kernels::cuda::add_int8({codes, exponents}, total, added, device.stream());
    CHECK(different(total.values(), sum) == 0);
    CHECK(added.is_raised());

    const Flag kept{device};
    Floats errors = owed;
    const std::uint32_t bad = kernels::shorten_keeping_errors(
        width(), {.values = values.data(), .owed = errors.data(), .max_exponent = bound}, nullptr,
        nullptr, errors.data(), count);
    kernels::cuda::keep_int8_errors(input, residual, bound, kept, device.stream());
    CHECK(different(residual.values(), errors) == 0);
    CHECK(kept.is_raised() == (bad == 0));
}

}  // namespace

TEST_CASE("the bf16 codec of a round has the host's bits on a device", "[cuda]") {
    Device device;
    for (const std::size_t count : device_sizes()) {
        for (const std::size_t offset : {std::size_t{0}, std::size_t{1}}) {
            if (count > 70'000 && offset != 0) continue;  // slow when the host plays the device
            INFO(count << " elements, offset " << offset);
            check_bfloats(around(count, count), adversarial(Random{count + 9}, count, 1e-3), offset,
                          device);
        }
    }
}

TEST_CASE("the int8 codec of a round has the host's bits on a device", "[cuda]") {
    Device device;
    for (const std::size_t count : device_sizes()) {
        for (const std::uint32_t bound : kBounds) {
            for (const std::size_t offset : {std::size_t{0}, std::size_t{1}}) {
                if (count > 5000 && (bound != 238 || offset != 0)) continue;
                INFO(count << " elements, exponents to " << bound << ", offset " << offset);
                check_int8(around(count, count), adversarial(Random{count + 9}, count, 1e-3), bound,
                           offset, device);
            }
        }
    }
}

TEST_CASE("the bound of int8 exponents clips on a device as on the host", "[cuda]") {
    Device device;
    const Floats values(64, std::numeric_limits<float>::max());
    const Array<float> input{values, device};
    const Array<std::int8_t> codes{Codes(64), device};
    const Array<std::uint8_t> exponents{Bytes(1), device};
    const Flag flag{device};
    kernels::cuda::shorten_to_int8({.values = input, .max_exponent = 238}, {codes, exponents}, flag,
                                   device.stream());
    CHECK(codes.values() == Codes(64, 127));
    CHECK(exponents.values() == Bytes{238});
    CHECK(flag.is_raised());
}

TEST_CASE("the short codecs on a device clear their flags for any value that is not finite",
          "[cuda]") {
    Device device;
    for (const float bad : {std::numeric_limits<float>::infinity(), -INFINITY, NAN}) {
        for (const std::size_t place : {std::size_t{0}, std::size_t{1025}, std::size_t{1026}}) {
            Floats values(1027, 1.0F);
            values[place] = bad;
            const Array<float> input{values, device};
            const auto clears = [&](const auto& call) {
                const Flag flag{device};
                call(flag.span());
                return !flag.is_raised();
            };
            const Array<Bfloat16> out{Bfloats(1027), device};
            const Array<std::int8_t> codes{Codes(1027), device};
            const Array<std::uint8_t> exponents{Bytes(17), device};
            const Array<float> errors{Floats(1027), device};
            CHECK(clears([&](auto flag) {
                kernels::cuda::shorten_to_bfloats(input, {}, out, flag, device.stream());
            }));
            CHECK(clears([&](auto flag) {
                kernels::cuda::keep_bfloat_errors(input, errors, flag, device.stream());
            }));
            CHECK(clears([&](auto flag) {
                const Array<float> sum{Floats(1027), device};
                kernels::cuda::add_bfloats(out, sum, flag, device.stream());
            }));
            CHECK(clears([&](auto flag) {
                kernels::cuda::shorten_to_int8({.values = input}, {codes, exponents}, flag,
                                               device.stream());
            }));
            const Array<float> fresh{Floats(1027), device};
            CHECK(clears([&](auto flag) {
                kernels::cuda::keep_int8_errors(input, fresh, 238, flag, device.stream());
            }));
        }
    }
}

TEST_CASE("the short codecs on a device refuse misuse", "[cuda]") {
    Device device;
    const auto values = at<float>(4096, 128);
    const auto errors = at<float>(8192, 128);
    const auto bfloats = at<Bfloat16>(16'384, 128);
    const auto codes = at<std::int8_t>(32'768, 128);
    const auto exponents = at<std::uint8_t>(65'536, 2);
    const auto flag = at<std::uint32_t>(131'072, 1);
    const auto refuses = [](const char* sentence, const auto& call) {
        return aborts_saying(sentence, call);
    };
    CHECK(refuses("another length than the values", [&] {
        kernels::cuda::shorten_to_bfloats(values, {}, bfloats.first(7), flag, device.stream());
    }));
    CHECK(refuses("every value needs its error", [&] {
        kernels::cuda::shorten_to_bfloats(values, errors.first(7), bfloats, flag, device.stream());
    }));
    CHECK(refuses("values and errors overlap", [&] {
        kernels::cuda::keep_bfloat_errors(values, at<float>(4096, 128), flag, device.stream());
    }));
    CHECK(refuses("a flag is one word",
                  [&] { kernels::cuda::add_bfloats(bfloats, values, {}, device.stream()); }));
    CHECK(refuses("every 64 codes need an exponent", [&] {
        kernels::cuda::shorten_to_int8({.values = values}, {codes, exponents.first(1)}, flag,
                                       device.stream());
    }));
    for (const std::uint32_t bound :
         {kernels::kInt8MinBound - 1, kernels::kInt8MaxExponent + 1, 0U}) {
        CHECK(refuses("bound of int8 exponents is out of range", [&] {
            kernels::cuda::shorten_to_int8({.values = values, .max_exponent = bound},
                                           {codes, exponents}, flag, device.stream());
        }));
        CHECK(refuses("bound of int8 exponents is out of range", [&] {
            kernels::cuda::keep_int8_errors(values, errors, bound, flag, device.stream());
        }));
    }
    CHECK(refuses("overlaps the encoded one", [&] {
        kernels::cuda::add_int8({codes, exponents}, at<float>(32'768, 128), flag, device.stream());
    }));
}
