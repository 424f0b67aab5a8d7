// The round's fp16 codec on a device gives the same bits as on the host: for a contribution in
// pieces with and without a residual, for its rounding errors, for a decoded average, and for sums.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "kernels/cuda/half_lanes.hpp"
#include "kernels/half_lanes.hpp"
#include "tests/kernels/aborts.hpp"
#include "tests/kernels/cuda/device.hpp"
#include "tests/kernels/cuda/same.hpp"
#include "tests/kernels/inputs.hpp"

using namespace dedloc;
using namespace dedloc::tests;
using kernels::Half;

namespace {

using Floats = std::vector<float>;
using Halves = std::vector<Half>;

/// Exponents of scales: the ends of the codec's range, 1, and what gradients of real models have.
constexpr std::array kScales{0x1p-112F, 0x1p-30F, 1.0F, 0x1p20F, 0x1p102F};

kernels::InstructionSet width() {
    return kernels::widest_instruction_set();
}

/// Values that become subnormal, normal and the largest halves with this scale, and others.
Floats around(std::uint64_t seed, std::size_t count, float scale) {
    Floats values = adversarial(Random{seed}, count, 1e30);
    Random random{seed + 1};
    for (std::size_t i = 0; i < count; i += 2) {
        const double power = 46 * random.uniform() - 28;  // 2⁻²⁸ to 2¹⁸
        values[i] = static_cast<float>(random.near_normal() * std::exp2(power) / double{scale});
        if (!kernels::is_finite(values[i])) values[i] = 0;
    }
    return values;
}

/// Every half that is neither infinite nor NaN, in turn.
Halves every_half(std::size_t count) {
    Halves halves(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t bits = 37 * i % 0x10000;
        halves[i].bits =
            (bits & 0x7c00) == 0x7c00 ? std::uint16_t{0x3c00} : static_cast<std::uint16_t>(bits);
    }
    return halves;
}

void check_rounding(const Floats& values, const Floats& owed, float scale, std::size_t offset,
                    Device& device) {
    const std::size_t count = values.size();
    const Array<float> input{values, device, offset};
    const Array<float> residual{owed, device, offset};
    const Array<Half> out{Halves(count), device, offset};
    Halves expected(count);
    for (const float addend : {0.0F, -0.0F}) {
        const Flag flag{device};
        const std::uint32_t bad = kernels::shorten_to_halves(
            width(), {.values = values.data(), .scale = scale, .addend = addend}, expected.data(),
            count);
        kernels::cuda::shorten_to_halves(
            {.values = input, .scale = scale, .owed = {}, .addend = addend}, out, flag,
            device.stream());
        CHECK(different(out.values(), expected) == 0);
        CHECK(flag.is_raised() == (bad == 0));
    }
    const Flag flag{device};
    std::uint32_t bad = kernels::shorten_to_halves(
        width(), {.values = values.data(), .scale = scale, .owed = owed.data()}, expected.data(),
        count);
    kernels::cuda::shorten_to_halves({.values = input, .scale = scale, .owed = residual}, out, flag,
                                     device.stream());
    // Two infinities of different sign are a NaN.
    CHECK(different_except_nan(out.values(), expected) == 0);
    CHECK(flag.is_raised() == (bad == 0));

    const Flag kept{device};
    Floats errors = owed;
    bad = kernels::keep_half_errors(width(), values.data(), scale, errors.data(), count);
    kernels::cuda::keep_half_errors(input, scale, residual, kept, device.stream());
    CHECK(different_except_nan(residual.values(), errors) == 0);
    CHECK(kept.is_raised() == (bad == 0));
}

void check_decoding(std::size_t count, float scale, std::size_t offset, Device& device) {
    const Halves halves = every_half(count);
    const Array<Half> input{halves, device, offset};
    Floats expected(count);
    kernels::widen_halves(width(), halves.data(), scale, expected.data(), count);
    const Array<float> out{Floats(count, 7.0f), device, offset};
    const Flag flag{device};
    kernels::cuda::widen_halves(input, scale, out, flag, device.stream());
    CHECK(different(out.values(), expected) == 0);
    CHECK(flag.is_raised());

    Floats sum = ordinary(Random{count}, count);
    const Array<float> total{sum, device, offset};
    kernels::add_halves(width(), halves.data(), scale, sum.data(), count);
    kernels::cuda::add_halves(input, scale, total, flag, device.stream());
    CHECK(different(total.values(), sum) == 0);
    CHECK(flag.is_raised());
}

}  // namespace

TEST_CASE("the fp16 codec of a round has the host's bits on a device", "[cuda]") {
    Device device;
    for (const std::size_t count : device_sizes()) {
        for (const float scale : kScales) {
            for (const std::size_t offset : {std::size_t{0}, std::size_t{1}}) {
                // Long vectors are slow when the host plays the device.
                if (count > 5000 && (scale != 0x1p20F || offset != 0)) continue;
                INFO(count << " elements, scale " << scale << ", offset " << offset);
                check_rounding(around(count, count, scale), around(count + 9, count, scale), scale,
                               offset, device);
                check_decoding(count, scale, offset, device);
            }
        }
    }
}

TEST_CASE("the fp16 codec on a device clears its flag for any value that is not finite", "[cuda]") {
    Device device;
    for (const float bad : {std::numeric_limits<float>::infinity(), -INFINITY, NAN}) {
        for (const std::size_t place : {std::size_t{0}, std::size_t{1025}, std::size_t{1026}}) {
            Floats values(1027, 1.0F);
            values[place] = bad;
            const Array<float> input{values, device};
            const Array<Half> out{Halves(1027), device};
            const Flag rounded{device};
            kernels::cuda::shorten_to_halves({.values = input}, out, rounded, device.stream());
            CHECK_FALSE(rounded.is_raised());
            const Array<float> errors{Floats(1027), device};
            const Flag kept{device};
            kernels::cuda::keep_half_errors(input, 1, errors, kept, device.stream());
            CHECK_FALSE(kept.is_raised());
            const Array<float> decoded{Floats(1027), device};
            const Flag widened{device};
            kernels::cuda::widen_halves(out, 1, decoded, widened, device.stream());
            CHECK_FALSE(widened.is_raised());
        }
    }
}

TEST_CASE("the fp16 codec on a device refuses misuse", "[cuda]") {
    Device device;
    const auto values = at<float>(4096, 8);
    const auto halves = at<Half>(8192, 8);
    const auto flag = at<std::uint32_t>(16'384, 1);
    CHECK(aborts_saying("another length than the values", [&] {
        kernels::cuda::shorten_to_halves({.values = values}, halves.first(7), flag,
                                         device.stream());
    }));
    CHECK(aborts_saying("every value needs its error", [&] {
        kernels::cuda::shorten_to_halves({.values = values, .owed = at<float>(32'768, 7)}, halves,
                                         flag, device.stream());
    }));
    CHECK(aborts_saying("overlap", [&] {
        kernels::cuda::widen_halves(halves, 1, at<float>(8192, 8), flag, device.stream());
    }));
    CHECK(aborts_saying("a flag is one word", [&] {
        kernels::cuda::add_halves(halves, 1, values, {}, device.stream());
    }));
    CHECK(aborts_saying("must be normal", [&] {
        kernels::cuda::keep_half_errors(values, 0x1p127F, at<float>(32'768, 8), flag,
                                        device.stream());
    }));
}
