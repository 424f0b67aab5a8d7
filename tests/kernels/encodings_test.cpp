// The arithmetic of fp16, bf16 and int8: the lanes decode all codes exactly and round to the
// nearest one, as the slow codec does. half_lanes_test.cpp and short_lanes_test.cpp try lengths and
// addresses.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "tests/kernels/encodings.hpp"
#include "tests/kernels/every_worker.hpp"
#include "tests/kernels/inputs.hpp"
#include "tests/kernels/slow_codec.hpp"

using namespace dedloc;
using namespace dedloc::kernels;

namespace {

using Floats = std::vector<float>;

/// Encodes with the widest instruction set. Returns how many values are not finite.
std::uint32_t encode(std::span<const float> values, std::vector<Half>& out) {
    return shorten_to_halves(widest_instruction_set(), {.values = values.data()}, out.data(),
                             values.size());
}
std::uint32_t encode(std::span<const float> values, std::vector<Bfloat16>& out) {
    return shorten_to_bfloats(widest_instruction_set(), values.data(), out.data(), values.size());
}
std::uint32_t encode(std::span<const float> values, tests::slow::Int8& out) {
    out.codes.resize(values.size());
    out.exponents.resize(int8_block_count(values.size()));
    return shorten_to_int8(widest_instruction_set(), {.values = values.data()}, out.codes.data(),
                           out.exponents.data(), values.size());
}

/// Decodes. Returns how many values are not finite; of halves this is not counted.
std::uint32_t decode(const std::vector<Half>& coded, Floats& out) {
    widen_halves(widest_instruction_set(), coded.data(), 1, out.data(), out.size());
    return 0;
}
std::uint32_t decode(const std::vector<Bfloat16>& coded, Floats& out) {
    return widen_bfloats(widest_instruction_set(), coded.data(), out.data(), out.size());
}
std::uint32_t decode(const tests::slow::Int8& coded, Floats& out,
                     InstructionSet set = widest_instruction_set()) {
    return widen_int8(set, coded.codes.data(), coded.exponents.data(), out.data(), out.size());
}

std::uint16_t reference_bits(float x, Half) {
    return tests::slow::half_bits(x);
}
std::uint16_t reference_bits(float x, Bfloat16) {
    return tests::slow::bfloat16_bits(x);
}

/// Every exponent with mantissas around every boundary of rounding, and some in between.
Floats turning_points() {
    Floats values;
    Random random{7};
    for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
        for (std::uint32_t mantissa = 0; mantissa < 1u << 23; mantissa += 1u << 12) {
            for (const std::uint32_t near : {mantissa - 1, mantissa, mantissa + 1}) {
                const std::uint32_t bits = (exponent << 23) + (near & 0x7fffff);
                values.push_back(std::bit_cast<float>(bits));
            }
        }
        for (int i = 0; i < 64; ++i) {
            const auto mantissa = static_cast<std::uint32_t>(random.below(1u << 23));
            values.push_back(-std::bit_cast<float>((exponent << 23) | mantissa));
        }
    }
    return values;
}

template <class Short>
void check_every_value_of() {
    std::vector<Short> all(65'536);
    for (std::uint32_t bits = 0; bits < all.size(); ++bits) {
        all[bits].bits = static_cast<std::uint16_t>(bits);
    }
    Floats values(all.size());
    // Infinity and 127 NaNs with each sign.
    CHECK(decode(all, values) == (std::is_same_v<Short, Half> ? 0u : 256u));
    std::size_t wrong = 0;
    for (std::uint32_t bits = 0; bits < all.size(); ++bits) {
        const double expected = std::is_same_v<Short, Half>
                                    ? tests::slow::half_value(static_cast<std::uint16_t>(bits))
                                    : tests::slow::bfloat16_value(static_cast<std::uint16_t>(bits));
        if (std::isnan(expected)) {
            wrong += std::isnan(values[bits]) ? 0u : 1u;
        } else {
            wrong += tests::same_bits(values[bits], static_cast<float>(expected)) ? 0u : 1u;
            std::vector<Short> again(1);
            CHECK(encode(std::span{values}.subspan(bits, 1), again) ==
                  (std::isfinite(expected) ? 0u : 1u));
            wrong += again[0] == all[bits] ? 0u : 1u;
        }
    }
    CHECK(wrong == 0);
}

template <class Short>
void check_every_turn_of() {
    const Floats values = turning_points();
    std::vector<Short> out(values.size());
    CHECK(encode(values, out) == 0);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        wrong += out[i].bits == reference_bits(values[i], Short{}) ? 0u : 1u;
    }
    CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("all values of fp16 and bf16 decode exactly and encode to themselves", "[kernels]") {
    check_every_value_of<Half>();
    check_every_value_of<Bfloat16>();
}

TEST_CASE("fp16 and bf16 round to nearest-even and stay finite", "[kernels]") {
    check_every_turn_of<Half>();
    check_every_turn_of<Bfloat16>();
    CHECK(to_half(1e30f).bits == 0x7bff);
    CHECK(to_half(65'520.0f).bits == 0x7bff);
    CHECK(to_bfloat16(std::numeric_limits<float>::max()).bits == 0x7f7f);
}

TEST_CASE("int8 blocks are what the slow reference makes, and err by half a scale", "[kernels]") {
    for (const std::size_t count : tests::kSizes) {
        for (const double huge : {3.4e38, 1e20, 1.0, 1e-30}) {
            const auto values = tests::adversarial(Random{count}, count, huge);
            tests::slow::Int8 coded;
            CHECK(encode(values, coded) == 0);
            const auto expected = tests::slow::to_int8(values);
            CHECK(coded.codes == expected.codes);
            CHECK(coded.exponents == expected.exponents);
            Floats decoded(count);
            CHECK(decode(coded, decoded) == 0);
            CHECK(decoded == tests::slow::from_int8(expected));
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < count; ++i) {
                const double scale = std::ldexp(1, coded.exponents[i / 64] - 127);
                const bool is_cut = std::fabs(double{values[i]}) > 127.5 * scale;
                const double limit = is_cut ? scale : scale / 2;
                const double error = std::fabs(double{decoded[i]} - double{values[i]});
                wrong += error <= limit ? 0u : 1u;
            }
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("an int8 scale is the smallest that holds its block", "[kernels]") {
    for (const float largest : {127.0f, 127.00001f, 126.9f, 64.0f, 1.984375f, 1.9843751f, 1e-45f,
                                0.0f, std::numeric_limits<float>::max()}) {
        Floats block(64);
        block[17] = -largest;
        tests::slow::Int8 coded;
        CHECK(encode(block, coded) == 0);
        CHECK(coded.exponents == tests::slow::to_int8(block).exponents);
        CHECK(coded.codes == tests::slow::to_int8(block).codes);
        CHECK(decode(coded, block) == 0);
    }
}

TEST_CASE("error feedback loses nothing", "[kernels]") {
    // If one value is sent repeatedly, the sent values plus the remaining error equal the input
    // sum. Here all three are multiples of 2⁻²⁴ below 2⁵, so fp32 and double add them exactly.
    const Floats values{0.1f, -0.3f, 1.0f, 1e-3f};
    Floats error(values.size());
    std::vector<double> sent(values.size());
    const float rounded = static_cast<float>(std::ldexp(std::nearbyint(0.1f * 0x1p20), -20));
    for (int step = 0; step < 16; ++step) {
        Floats x(values.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            x[i] = static_cast<float>(std::ldexp(std::nearbyint(values[i] * 0x1p20), -20));
        }
        const Floats decoded = tests::decoded(tests::Encoding::kInt8, x, error);
        error = tests::kept_errors(tests::Encoding::kInt8, x, error);
        for (std::size_t i = 0; i < x.size(); ++i) sent[i] += double{decoded[i]};
    }
    CHECK(sent[0] + double{error[0]} == 16 * double{rounded});
    CHECK(std::fabs(error[3]) <= 0x1p-7f);
    // Without feedback the small value would be rounded to 0 each time.
    CHECK(sent[3] > 0);
}

TEST_CASE("decoding any bytes counts the values that are not finite", "[kernels]") {
    Floats out(64);
    const auto bad = [&](std::int8_t code, std::uint8_t exponent) {
        tests::slow::Int8 coded;
        coded.codes.assign(64, code);
        coded.exponents = {exponent};
        return decode(coded, out);
    };
    CHECK(bad(127, 255) == 64);
    CHECK(bad(0, 255) == 64);
    CHECK(bad(-128, 248) == 64);
    CHECK(bad(-127, 248) == 0);
    CHECK(bad(-127, 0) == 0);
    CHECK(out[0] == 0);
}

TEST_CASE("every int8 code decodes exactly with every exponent", "[kernels]") {
    constexpr std::size_t kCodes = 256;
    for (const auto set : tests::every_width()) {
        for (int exponent = 0; exponent < 256; ++exponent) {
            // Codes with and without −128; without it the last block is not full.
            for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
                tests::slow::Int8 coded;
                coded.codes.resize(kCodes - first);
                coded.exponents.assign(int8_block_count(kCodes - first),
                                       static_cast<std::uint8_t>(exponent));
                for (std::size_t i = 0; i < coded.codes.size(); ++i) {
                    coded.codes[i] = static_cast<std::int8_t>(static_cast<int>(i + first) - 128);
                }
                Floats out(coded.codes.size());
                const bool is_finite = exponent < (first == 0 ? 248 : 249);
                CHECK((decode(coded, out, set) == 0) == is_finite);
                if (!is_finite) continue;
                std::size_t wrong = 0;
                for (std::size_t i = 0; i < out.size(); ++i) {
                    const double scale = exponent == 0 ? 0 : std::ldexp(1, exponent - 127);
                    const auto expected =
                        static_cast<float>(static_cast<double>(coded.codes[i]) * scale);
                    wrong += tests::same_bits(out[i], expected) ? 0u : 1u;
                }
                CHECK(wrong == 0);
            }
        }
    }
}

TEST_CASE("a value that is not finite is counted at any position", "[kernels]") {
    for (const float bad : {INFINITY, -INFINITY, NAN, -NAN}) {
        for (const std::size_t place : {std::size_t{0}, std::size_t{64}, std::size_t{65'600}}) {
            Floats values(65'601, 1.0f);
            values[place] = bad;
            Floats error(values.size());
            std::vector<Half> half(values.size());
            std::vector<Bfloat16> bfloat(values.size());
            tests::slow::Int8 coded;
            CHECK(encode(values, half) == 1);
            CHECK(encode(values, bfloat) == 1);
            CHECK(encode(values, coded) == 1);
            CHECK(keep_half_errors(widest_instruction_set(), values.data(), 1, error.data(),
                                   values.size()) == 1);
            Floats out(values.size());
            CHECK(decode(bfloat, out) == 1);
        }
    }
}
