#include "kernels/quantize.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "kernels/dequantize.hpp"
#include "tests/kernels/aborts.hpp"
#include "tests/kernels/every_worker.hpp"
#include "tests/kernels/inputs.hpp"
#include "tests/kernels/slow_codec.hpp"

using namespace dedloc;
using namespace dedloc::kernels;

namespace {

using Floats = std::vector<float>;

struct Int8 {
    std::vector<std::int8_t> codes;
    std::vector<std::uint8_t> exponents;

    explicit Int8(std::size_t count) : codes(count), exponents(int8_block_count(count)) {}
    Int8Blocks blocks() { return {codes, exponents}; }
    ConstInt8Blocks decoded() const { return {codes, exponents}; }
};

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
    CHECK_FALSE(dequantize(all, values));
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
            CHECK(quantize(std::span{values}.subspan(bits, 1), again) == std::isfinite(expected));
            wrong += again[0] == all[bits] ? 0u : 1u;
        }
    }
    CHECK(wrong == 0);
}

template <class Short>
void check_every_turn_of() {
    const Floats values = turning_points();
    std::vector<Short> out(values.size());
    CHECK(quantize(values, out));
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
            Int8 coded{count};
            CHECK(quantize(values, coded.blocks()));
            const auto expected = tests::slow::to_int8(values);
            CHECK(coded.codes == expected.codes);
            CHECK(coded.exponents == expected.exponents);
            Floats decoded(count);
            CHECK(dequantize(coded.decoded(), decoded));
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
        Int8 coded{block.size()};
        CHECK(quantize(block, coded.blocks()));
        CHECK(coded.exponents == tests::slow::to_int8(block).exponents);
        CHECK(coded.codes == tests::slow::to_int8(block).codes);
        CHECK(dequantize(coded.decoded(), block));
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
        Int8 coded{values.size()};
        Floats x(values.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            x[i] = static_cast<float>(std::ldexp(std::nearbyint(values[i] * 0x1p20), -20));
        }
        CHECK(quantize_with_feedback(x, error, coded.blocks()));
        Floats decoded(values.size());
        CHECK(dequantize(coded.decoded(), decoded));
        for (std::size_t i = 0; i < x.size(); ++i) sent[i] += double{decoded[i]};
    }
    CHECK(sent[0] + double{error[0]} == 16 * double{rounded});
    CHECK(std::fabs(error[3]) <= 0x1p-7f);
    // Without feedback the small value would be rounded to 0 each time.
    CHECK(sent[3] > 0);
}

TEST_CASE("decoding any bytes reports whether the values are finite", "[kernels]") {
    Floats out(64);
    Int8 coded{64};
    coded.codes.assign(64, 127);
    coded.exponents = {255};
    CHECK_FALSE(dequantize(coded.decoded(), out));
    coded.codes.assign(64, 0);
    CHECK_FALSE(dequantize(coded.decoded(), out));
    coded.codes.assign(64, -128);
    coded.exponents = {248};
    CHECK_FALSE(dequantize(coded.decoded(), out));
    coded.codes.assign(64, -127);
    CHECK(dequantize(coded.decoded(), out));
    coded.exponents = {0};
    CHECK(dequantize(coded.decoded(), out));
    CHECK(out[0] == 0);
}

TEST_CASE("every int8 code decodes exactly with every exponent", "[kernels]") {
    constexpr std::size_t kCodes = 256;
    for (const auto set : tests::every_width()) {
        for (int exponent = 0; exponent < 256; ++exponent) {
            // Codes with and without −128; without it the last block is not full.
            for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
                Int8 coded{kCodes - first};
                coded.exponents.assign(coded.exponents.size(), static_cast<std::uint8_t>(exponent));
                for (std::size_t i = 0; i < coded.codes.size(); ++i) {
                    coded.codes[i] = static_cast<std::int8_t>(static_cast<int>(i + first) - 128);
                }
                Floats out(coded.codes.size());
                const bool is_finite = exponent < (first == 0 ? 248 : 249);
                CHECK(dequantize(coded.decoded(), out, ThisThread{set}) == is_finite);
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

TEST_CASE("a value that is not finite is reported at any position", "[kernels]") {
    for (const float bad : {INFINITY, -INFINITY, NAN, -NAN}) {
        for (const std::size_t place : {std::size_t{0}, std::size_t{64}, std::size_t{65'600}}) {
            Floats values(65'601, 1.0f);
            values[place] = bad;
            Floats error(values.size());
            std::vector<Half> half(values.size());
            std::vector<Bfloat16> bfloat(values.size());
            Int8 coded{values.size()};
            CHECK_FALSE(quantize(values, half));
            CHECK_FALSE(quantize(values, bfloat));
            CHECK_FALSE(quantize(values, coded.blocks()));
            CHECK_FALSE(quantize_with_feedback(values, error, half));
            Floats out(values.size());
            CHECK_FALSE(dequantize(half, out));
            CHECK_FALSE(dequantize(bfloat, out));
        }
    }
}

TEST_CASE("large results use streaming stores and have the same bits", "[kernels]") {
    const std::size_t count = (std::size_t{16} << 20) / 4 + 12'345;
    const auto values = tests::ordinary(Random{5}, count);
    std::vector<Half> half(count);
    CHECK(quantize(values, half));
    Int8 coded{count};
    CHECK(quantize(values, coded.blocks()));
    // One element after the allocation's start, so that cache lines and vectors are not aligned.
    Floats whole(count + 1);
    const std::span<float> out = std::span{whole}.subspan(1);
    Floats piece(1000);
    for (const bool is_int8 : {false, true}) {
        CHECK((is_int8 ? dequantize(coded.decoded(), out) : dequantize(half, out)));
        for (std::size_t first = 0; first + 1024 <= count; first += 1'048'576) {
            const auto exponents = std::span{coded.exponents}.subspan(first / 64, 16);
            const auto codes = std::span{coded.codes}.subspan(first, 1000);
            CHECK((is_int8 ? dequantize({codes, exponents}, piece)
                           : dequantize(std::span{half}.subspan(first, 1000), piece)));
            CHECK(std::equal(piece.begin(), piece.end(), out.begin() + std::ptrdiff_t(first)));
        }
    }
    CHECK(whole[0] == 0);
}

namespace {

template <class Short>
void check_misuse_of() {
    Floats values(128);
    Floats error(128);
    std::vector<Short> out(128);
    const std::span<Short> own{reinterpret_cast<Short*>(values.data()), 128};
    using tests::aborts_saying;
    const std::span few = std::span{values}.first(5);
    CHECK(aborts_saying("another length", [&] { (void)quantize(few, out); }));
    CHECK(aborts_saying("another length", [&] { (void)dequantize(out, few); }));
    CHECK(aborts_saying("its error", [&] {
        (void)quantize_with_feedback(values, std::span{error}.first(5), out);
    }));
    CHECK(aborts_saying("overlap", [&] { (void)quantize_with_feedback(values, values, out); }));
    CHECK(aborts_saying("overlap", [&] { (void)quantize_with_feedback(error, values, own); }));
    CHECK(aborts_saying("overlap", [&] { (void)quantize(values, own); }));
    CHECK(aborts_saying("overlaps", [&] { (void)dequantize(own, values); }));
}

}  // namespace

TEST_CASE("quantizing to 16 bits refuses misuse in one sentence", "[kernels]") {
    check_misuse_of<Half>();
    check_misuse_of<Bfloat16>();
}

TEST_CASE("quantizing to int8 refuses misuse in one sentence", "[kernels]") {
    Floats values(128);
    Floats error(128);
    Int8 coded{128};
    using tests::aborts_saying;
    const Int8Blocks good = coded.blocks();
    const Int8Blocks few{good.codes, good.exponents.first(1)};
    auto* const codes = reinterpret_cast<std::int8_t*>(values.data());
    auto* const exponents = reinterpret_cast<std::uint8_t*>(values.data());
    const Int8Blocks own_codes{{codes, 128}, good.exponents};
    const Int8Blocks own_exponents{good.codes, {exponents, 2}};
    const Int8Blocks own{good.codes, {reinterpret_cast<std::uint8_t*>(good.codes.data()), 2}};
    const std::span short_values = std::span{values}.first(5);
    CHECK(aborts_saying("another length", [&] { (void)quantize(short_values, good); }));
    CHECK(
        aborts_saying("another length", [&] { (void)dequantize(coded.decoded(), short_values); }));
    CHECK(aborts_saying("its error", [&] {
        (void)quantize_with_feedback(values, std::span{error}.first(5), good);
    }));
    CHECK(aborts_saying("every 64 codes", [&] { (void)quantize(values, few); }));
    CHECK(aborts_saying("every 64 codes", [&] {
        (void)dequantize({few.codes, few.exponents}, values);
    }));
    CHECK(aborts_saying("overlap", [&] { (void)quantize_with_feedback(values, values, good); }));
    for (const Int8Blocks& blocks : {own_codes, own_exponents}) {
        CHECK(aborts_saying("overlap", [&] { (void)quantize(values, blocks); }));
        CHECK(
            aborts_saying("overlap", [&] { (void)quantize_with_feedback(error, values, blocks); }));
        CHECK(aborts_saying("overlaps", [&] {
            (void)dequantize({blocks.codes, blocks.exponents}, values);
        }));
    }
    CHECK(aborts_saying("overlap", [&] { (void)quantize(values, own); }));
}
