// bf16 and int8 in the all-reduce: their bits are those of the formulas, whatever the numbers are.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/round/codec.hpp"
#include "peer/wire/limits.hpp"
#include "tests/kernels/inputs.hpp"
#include "tests/kernels/slow_codec.hpp"
#include "tests/peer/round/coded.hpp"

using namespace dedloc;
using namespace dedloc::round;

namespace {

bool are_equal_or_nan(const FloatVector& a, const FloatVector& b) {
    return std::ranges::equal(a, b, [](float x, float y) {
        return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) ||
               (std::isnan(x) && std::isnan(y));
    });
}

/// The reference: what is sent for these numbers, as fp32.
FloatVector slowly_rounded(Codec codec, const FloatVector& numbers) {
    if (codec == Codec::kInt8) return tests::slow::from_int8(tests::slow::to_int8(numbers));
    FloatVector rounded;
    for (const float x : numbers) {
        const std::uint16_t bits = tests::slow::bfloat16_bits(x);
        rounded.push_back(static_cast<float>(tests::slow::bfloat16_value(bits)));
    }
    return rounded;
}

/// a + b, or a − b, rounded once each.
FloatVector sum_of(const FloatVector& a, const FloatVector& b, float sign = 1) {
    FloatVector sums(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        const volatile float sum = a[i] + sign * b[i];
        sums[i] = sum;
    }
    return sums;
}

bool is_finite_vector(const FloatVector& numbers) {
    return std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); });
}

/// A piece as a stranger may send it: any elements that wire::decode() accepts.
wire::Elements any_piece(Random& random, Codec codec, std::size_t count) {
    if (codec == Codec::kBf16) {
        std::vector<std::uint16_t> bits(count);
        for (auto& b : bits) b = static_cast<std::uint16_t>(random.below(65'536));
        return wire::Bfloats{.bits = std::move(bits)};
    }
    std::vector<std::int8_t> codes(count);
    for (auto& c : codes) c = static_cast<std::int8_t>(static_cast<int>(random.below(255)) - 127);
    std::vector<std::uint8_t> exponents((count + 63) / 64);
    const bool is_near = random.below(2) == 0;
    for (auto& e : exponents) {
        e = static_cast<std::uint8_t>(is_near ? 120 + random.below(9) : 1 + random.below(238));
    }
    return wire::Int8Blocks{.codes = std::move(codes), .exponents = std::move(exponents)};
}

constexpr std::size_t kBlockLengths[]{1, 7, 63, 64, 65, 4'095, 4'096, 4'097, 8'193, 20'001};

}  // namespace

TEST_CASE("bf16 and int8 contributions and residuals have the bits of the formula", "[averaging]") {
    const Codec codec = GENERATE(Codec::kBf16, Codec::kInt8);
    for (const double huge : {1e-38, 1e-3, 1.0, 1e33}) {
        for (const std::size_t count : kBlockLengths) {
            INFO(name_of(codec) << ", " << huge << ", " << count);
            Feedback feedback{codec};
            FloatVector owed(count);
            for (std::uint64_t round = 0; round < 4; ++round) {
                const FloatVector sum = tests::adversarial(Random{count + round}, count, huge);
                const Encoder encoder = feedback.freeze(contribution_of(sum));
                const FloatVector x = sum_of(sum, owed);
                const FloatVector expected = slowly_rounded(codec, x);
                REQUIRE(are_equal_or_nan(decoded(encoder.piece(0, count)), expected));
                feedback.counted(encoder);
                owed = sum_of(x, expected, -1);
                REQUIRE(feedback.residual() != nullptr);
                REQUIRE(are_equal_or_nan(*feedback.residual(), owed));
            }
        }
    }
}

TEST_CASE("averages of bf16 and int8 have the bits of the formula for any pieces", "[averaging]") {
    const Codec codec = GENERATE(Codec::kBf16, Codec::kInt8);
    Random random{11};
    for (const std::size_t count : kBlockLengths) {
        for (const std::size_t senders : {1u, 2u, 3u, 9u}) {
            INFO(name_of(codec) << ", " << count << ", " << senders);
            std::vector<wire::Elements> pieces;
            std::vector<std::uint64_t> weights;
            std::uint64_t samples = 0;
            FloatVector sums(count, 0.0F);
            for (std::size_t k = 0; k < senders; ++k) {
                pieces.push_back(any_piece(random, codec, count));
                weights.push_back(1 + random.below(1'000));
                samples += weights.back();
                sums = sum_of(sums, decoded(pieces.back()));
            }
            for (float& x : sums) x /= static_cast<float>(samples);
            FloatVector out(count, 3.0F);
            REQUIRE(average_of(pieces, weights, out) == 0);
            // The largest exponent is 248 in the reference.
            const float max = 127 * 0x1p111F;
            if (codec == Codec::kInt8 &&
                std::ranges::any_of(sums, [&](float x) { return std::abs(x) > max; })) {
                continue;
            }
            REQUIRE(are_equal_or_nan(out, slowly_rounded(codec, sums)));
            REQUIRE(are_equal_or_nan(decoded(encode(codec, nullptr, out, 0)), out));
        }
    }
}

TEST_CASE("all values of bf16 and int8 are encoded again as they were", "[averaging]") {
    std::vector<std::uint16_t> bits(65'536);
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
    const FloatVector all = decoded(wire::Bfloats{.bits = bits});
    REQUIRE(are_equal_or_nan(decoded(encode(Codec::kBf16, nullptr, all, 0)), all));
    for (int exponent = 1; exponent <= wire::kMaxInt8Exponent; ++exponent) {
        std::vector<std::int8_t> codes;
        for (int code = -127; code <= 127; ++code) {
            codes.push_back(static_cast<std::int8_t>(code));
        }
        // In the last blocks the largest code is so small that the exponent is not the least.
        codes.resize(4 * 64, 1);
        for (int i = 0; i < 64; ++i) codes.push_back(static_cast<std::int8_t>(i % 3));
        const wire::Elements piece = wire::Int8Blocks{
            .codes = codes,
            .exponents = std::vector<std::uint8_t>(5, static_cast<std::uint8_t>(exponent))};
        const FloatVector values = decoded(piece);
        REQUIRE(is_finite_vector(values));
        REQUIRE(decoded(encode(Codec::kInt8, nullptr, values, 0)) == values);
    }
}

TEST_CASE("no int8 average overflows, whatever the pieces hold", "[averaging]") {
    const wire::Elements largest =
        wire::Int8Blocks{.codes = std::vector<std::int8_t>(65, wire::kMaxInt8Code),
                         .exponents = std::vector<std::uint8_t>(2, wire::kMaxInt8Exponent)};
    for (const std::size_t senders : {std::size_t{1}, std::size_t{2}, wire::kMaxMembers}) {
        const std::vector<wire::Elements> pieces(senders, largest);
        const std::vector<std::uint64_t> weights(senders, 1);
        FloatVector out(65);
        (void)average_of(pieces, weights, out);
        REQUIRE(out == FloatVector(65, 127 * 0x1p111F));
    }
}

TEST_CASE("numbers beyond the range of int8 are clipped and their rest is kept", "[averaging]") {
    constexpr float kGreatest = std::numeric_limits<float>::max();
    Feedback feedback{Codec::kInt8};
    const Encoder encoder =
        feedback.freeze(contribution_of(FloatVector{kGreatest, -kGreatest, 1.0F}));
    CHECK(encoder.exponent() == wire::kMaxInt8Exponent);
    const float largest = 127 * 0x1p111F;
    CHECK(decoded(encoder.piece(0, 3)) == FloatVector{largest, -largest, 0});
    feedback.counted(encoder);
    CHECK(*feedback.residual() == FloatVector{kGreatest - largest, largest - kGreatest, 1});
}

TEST_CASE("an int8 contribution announces the largest exponent of its blocks", "[averaging]") {
    FloatVector sum(200);
    CHECK(Encoder{Codec::kInt8, contribution_of(sum), nullptr}.exponent() == 1);
    sum[130] = -127 * 0x1p-20F;
    sum[5] = 63.5F * 0x1p-20F;
    const Encoder encoder{Codec::kInt8, contribution_of(sum), nullptr};
    CHECK(encoder.exponent() == 127 - 20);
    const auto piece = encoder.piece(0, 200);
    CHECK(std::get<wire::Int8Blocks>(piece).exponents.copy() ==
          std::vector<std::uint8_t>{127 - 21, 1, 127 - 20, 1});
    CHECK(is_as_joined(piece, encoder.exponent()));
    CHECK_FALSE(is_as_joined(piece, static_cast<std::uint8_t>(encoder.exponent() - 1)));
    // The residual counts.
    const auto owed = std::make_shared<const FloatVector>(200, 1.0F);
    CHECK(Encoder{Codec::kInt8, contribution_of(sum), owed}.exponent() == 127 - 6);
    CHECK(Encoder{Codec::kInt8, {}, nullptr}.exponent() == 0);
}

TEST_CASE("an int8 residual is at most half a scale", "[averaging][property]") {
    Feedback feedback{Codec::kInt8};
    Random random{3};
    for (int round = 0; round < 50; ++round) {
        FloatVector sum(1'000);
        for (float& x : sum) x = static_cast<float>(random.near_normal());
        const Encoder encoder = feedback.freeze(contribution_of(sum));
        const auto piece = encoder.piece(0, sum.size());
        const auto exponents = std::get<wire::Int8Blocks>(piece).exponents.copy();
        feedback.counted(encoder);
        for (std::size_t i = 0; i < sum.size(); ++i) {
            const float scale = std::ldexp(1.0F, exponents[i / 64] - 127);
            REQUIRE(std::abs((*feedback.residual())[i]) <= scale / 2);
        }
    }
}

TEST_CASE("a bf16 contribution that is not finite is found and leaves no residual", "[averaging]") {
    for (const float bad : {INFINITY, -INFINITY, NAN, -NAN}) {
        for (std::size_t place = 0; place < 40; ++place) {
            FloatVector sum(40, 1.0F);
            Feedback feedback{Codec::kBf16};
            const Encoder good = feedback.freeze(contribution_of(sum));
            CHECK(is_finite(good.piece(0, sum.size())));
            feedback.counted(good);
            sum[place] = bad;
            const Encoder encoder = feedback.freeze(contribution_of(sum));
            REQUIRE_FALSE(is_finite(encoder.piece(0, sum.size())));
            feedback.counted(encoder);
            REQUIRE(feedback.residual() == nullptr);
        }
    }
}
