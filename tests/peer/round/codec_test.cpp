// Codecs of the all-reduce: rounding, and error feedback of contributions.
#include <algorithm>
#include <array>
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

constexpr float kMax = std::numeric_limits<float>::max();
constexpr float kMinNormal = std::numeric_limits<float>::min();

/// The values that a peer sends for its whole contribution.
FloatVector sent(const Encoder& encoder) {
    return decoded(encoder.piece(0, encoder.contribution().sum->size()));
}

bool have_equal_bits(const FloatVector& a, const FloatVector& b) {
    return std::ranges::equal(a, b, [](float x, float y) {
        return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
    });
}

FloatVector normal_numbers(std::size_t count, std::uint64_t seed, float scale) {
    Random random{seed};
    FloatVector values(count);
    for (float& x : values) x = static_cast<float>(random.near_normal()) * scale;
    return values;
}

/// Gradient descent on ½ Σ (xᵢ − 1)², with one more element whose gradient stays so large that the
/// gradients of the others round to 0. Returns where the others converge.
template <class AfterStep>
float where_descent_ends(Codec codec, float large, AfterStep after_step) {
    Feedback feedback{codec};
    FloatVector x(8, 0.0F);
    for (int step = 0; step < 2'000; ++step) {
        FloatVector gradient(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) gradient[i] = x[i] - 1;
        gradient.front() = step % 2 == 0 ? large : -large;
        const Encoder encoder = feedback.freeze(contribution_of(gradient));
        const FloatVector average = sent(encoder);
        for (std::size_t i = 1; i < x.size(); ++i) x[i] -= 0.02F * average[i];
        after_step(feedback, encoder);
    }
    return x.back();
}

/// A product that the compiler cannot fuse with another operation.
float times(float a, float b) {
    const volatile float product = a * b;
    return product;
}

/// Reference for one piece: the halves sent for `sum` plus residual, and the new residual; computed
/// element by element, each operation rounded on its own.
struct SlowPiece {
    std::vector<std::uint16_t> bits;
    FloatVector owed;
    bool is_finite = true;

    SlowPiece(const FloatVector& sum, const FloatVector& owed_before, std::uint8_t exponent) {
        const float scale = std::ldexp(1.0F, exponent - 127);
        for (std::size_t i = 0; i < sum.size(); ++i) {
            const float value = times(1 / scale, sum[i]);
            const float debt = owed_before.empty() ? 0.0F : times(1 / scale, owed_before[i]);
            const volatile float x = value + debt;
            is_finite &= std::isfinite(x);
            bits.push_back(tests::slow::half_bits(x));
            const auto back = static_cast<float>(tests::slow::half_value(bits.back()));
            const volatile float taken = x - back;
            owed.push_back(times(scale, taken));
        }
    }
};

FloatVector slowly_decoded(const std::vector<std::uint16_t>& bits, std::uint8_t exponent) {
    FloatVector values;
    for (const std::uint16_t half : bits) {
        const auto value = static_cast<float>(tests::slow::half_value(half));
        values.push_back(times(std::ldexp(1.0F, exponent - 127), value));
    }
    return values;
}

std::vector<std::uint16_t> bits_of(const wire::Elements& elements) {
    return std::get<wire::Halves>(elements).bits.copy();
}
std::uint8_t exponent_of(const wire::Elements& elements) {
    return std::get<wire::Halves>(elements).exponent;
}

/// True if all elements have equal bits, or both are NaN.
bool are_equal_or_no_numbers(const FloatVector& a, const FloatVector& b) {
    return std::ranges::equal(a, b, [](float x, float y) {
        return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) ||
               (std::isnan(x) && std::isnan(y));
    });
}

constexpr std::array<std::size_t, 9> kLengths{1, 7, 16, 17, 4'095, 4'096, 4'097, 8'193, 20'001};

}  // namespace

TEST_CASE("a contribution and its residual have the bits of the formula", "[averaging]") {
    for (const double huge : {1e-38, 1e-3, 1.0, 1e37}) {
        for (const std::size_t count : kLengths) {
            INFO(huge << ", " << count);
            Feedback feedback{Codec::kFp16};
            FloatVector owed;  // no residual yet
            for (std::uint64_t round = 0; round < 4; ++round) {
                FloatVector sum = tests::adversarial(Random{count + round}, count, huge);
                // Also with all elements at the lowest exponents.
                if (huge < 1e-30) std::ranges::for_each(sum, [](float& x) { x *= 0x1p-100F; });
                const Encoder encoder = feedback.freeze(contribution_of(sum));
                const std::uint64_t first = count / 3;
                const auto whole = encoder.piece(0, count);
                const SlowPiece expected{sum, owed, exponent_of(whole)};
                REQUIRE(bits_of(whole) == expected.bits);
                const auto part = bits_of(encoder.piece(first, count - first));
                REQUIRE(std::ranges::equal(part, std::span{expected.bits}.subspan(first)));
                REQUIRE(have_equal_bits(decoded(whole),
                                        slowly_decoded(expected.bits, exponent_of(whole))));
                feedback.counted(encoder);
                // The residual overflows a half if the next sum is far smaller.
                REQUIRE((feedback.residual() != nullptr) == expected.is_finite);
                owed = expected.is_finite ? expected.owed : FloatVector{};
                if (!owed.empty()) REQUIRE(have_equal_bits(*feedback.residual(), owed));
            }
        }
    }
}

TEST_CASE("a contribution that is not finite is sent by its bits and leaves no residual",
          "[averaging]") {
    for (const float bad : {INFINITY, -INFINITY, NAN, -NAN}) {
        for (std::size_t place = 0; place < 40; ++place) {
            FloatVector sum = normal_numbers(40, place, 1e-3F);
            sum[place] = bad;
            Feedback feedback{Codec::kFp16};
            feedback.counted(feedback.freeze(contribution_of(normal_numbers(40, 77, 1e-3F))));
            const FloatVector owed = *feedback.residual();
            const Encoder encoder = feedback.freeze(contribution_of(sum));
            const auto piece = encoder.piece(0, sum.size());
            REQUIRE(bits_of(piece) == SlowPiece{sum, owed, exponent_of(piece)}.bits);
            feedback.counted(encoder);
            REQUIRE(feedback.residual() == nullptr);
        }
    }
}

TEST_CASE("an average has the bits of the formula for any pieces", "[averaging]") {
    Random random{11};
    for (const std::size_t count : kLengths) {
        for (const std::size_t senders : {1u, 2u, 3u, 8u, 9u}) {
            INFO(count << ", " << senders);
            std::vector<wire::Elements> pieces;
            std::vector<std::uint64_t> weights;
            std::uint64_t samples = 0;
            // Two thirds of the time pieces as peers send them, else random bits and exponents.
            const bool is_honest = random.below(3) != 0;
            for (std::size_t k = 0; k < senders; ++k) {
                std::vector<std::uint16_t> bits(count);
                for (auto& half : bits) {
                    half = static_cast<std::uint16_t>(random.below(65'536));
                    // More ±0 and subnormals than random bits have.
                    if (random.below(4) == 0) half &= 0x8003;
                    if (is_honest && (half & 0x7c00) == 0x7c00) half &= 0xbfff;
                }
                const auto exponent = static_cast<std::uint8_t>(
                    is_honest ? 100 + random.below(8)
                              : wire::kMinHalfExponent + random.below(wire::kMaxHalfExponent - 24));
                pieces.push_back(wire::Halves{.bits = std::move(bits), .exponent = exponent});
                weights.push_back(1 + random.below(1'000));
                samples += weights.back();
            }
            FloatVector out(count, 3.0F);
            const std::uint8_t exponent = average_of(pieces, weights, out);
            FloatVector sums(count, 0.0F);
            for (const wire::Elements& piece : pieces) {
                const FloatVector terms = slowly_decoded(bits_of(piece), exponent_of(piece));
                for (std::size_t i = 0; i < count; ++i) {
                    const volatile float next = sums[i] + terms[i];
                    sums[i] = next;
                }
            }
            std::vector<std::uint16_t> expected;
            for (const float sum : sums) {
                const volatile float mean = sum / static_cast<float>(samples);
                expected.push_back(
                    tests::slow::half_bits(times(std::ldexp(1.0F, 127 - exponent), mean)));
            }
            REQUIRE(are_equal_or_no_numbers(out, slowly_decoded(expected, exponent)));
            REQUIRE((!is_honest || have_equal_bits(out, slowly_decoded(expected, exponent))));
            const auto again = encode(Codec::kFp16, nullptr, out, exponent);
            if (is_honest) REQUIRE(bits_of(again) == expected);
        }
    }
}

TEST_CASE("fp32 is sent unchanged and leaves no residual", "[averaging]") {
    Feedback feedback{Codec::kFp32};
    const FloatVector numbers = normal_numbers(1'000, 1, 1e-3F);
    const Encoder encoder = feedback.freeze(contribution_of(numbers));
    const auto piece = encoder.piece(100, 300);
    // Nothing is copied.
    REQUIRE(std::get<SharedSlice<float>>(piece).values().data() ==
            encoder.contribution().sum->data() + 100);
    REQUIRE(have_equal_bits(sent(encoder), numbers));
    feedback.counted(encoder);
    REQUIRE(feedback.residual() == nullptr);
}

TEST_CASE("the bits of a piece do not depend on the cut", "[averaging][property]") {
    Random random{5};
    const auto residual = std::make_shared<const FloatVector>(normal_numbers(30'000, 4, 1e-8F));
    for (const auto& owed : {SharedFloats{}, SharedFloats{residual}}) {
        for (const Codec codec : {Codec::kFp16, Codec::kBf16, Codec::kInt8}) {
            const Encoder encoder{codec, contribution_of(normal_numbers(30'000, 3, 1e-5F)), owed};
            const FloatVector whole = sent(encoder);
            const std::uint64_t block = codec == Codec::kInt8 ? 64 : 1;
            for (int i = 0; i < 50; ++i) {
                const std::uint64_t first = random.below(30'000) / block * block;
                const std::uint64_t rest = 30'000 - first;
                std::uint64_t count = 1 + random.below(rest);
                if (block > 1) count = std::min((count + block - 1) / block * block, rest);
                const FloatVector piece = decoded(encoder.piece(first, count));
                REQUIRE(std::equal(piece.begin(), piece.end(),
                                   whole.begin() + static_cast<std::ptrdiff_t>(first)));
            }
        }
    }
}

TEST_CASE("numbers keep eleven bits in vectors of any magnitude", "[averaging]") {
    // Gradients of large models lie where binary16 alone is subnormal.
    for (const float scale : {1e-30F, 1e-7F, 1e-5F, 1.0F, 1e20F}) {
        const FloatVector numbers = normal_numbers(50'000, 7, scale);
        const FloatVector back = sent({Codec::kFp16, contribution_of(numbers), nullptr});
        INFO(scale);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            // A vector this long has a norm of 224 typical elements: 2⁻²⁸ of it is tiny.
            if (std::abs(numbers[i]) < scale * 1e-5F) continue;
            REQUIRE(std::abs(back[i] - numbers[i]) <= std::abs(numbers[i]) * 0x1p-11F);
        }
    }
}

TEST_CASE("finite numbers stay finite and zeros stay zero", "[averaging]") {
    const std::vector<FloatVector> extremes{
        {0.0F, -0.0F, 0.0F},
        {kMax, -kMax, kMax, 1.0F},
        FloatVector(20'000, kMax),
        {kMinNormal, -kMinNormal, 0.0F},
        {std::numeric_limits<float>::denorm_min(), 0.0F},
        {kMax, kMinNormal, 0.0F},
    };
    for (const FloatVector& numbers : extremes) {
        Feedback feedback{Codec::kFp16};
        const Encoder encoder = feedback.freeze(contribution_of(numbers));
        const FloatVector back = sent(encoder);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            REQUIRE(std::isfinite(back[i]));
            REQUIRE(std::abs(back[i]) <= std::abs(numbers[i]) * (1 + 0x1p-10F));
            if (numbers[i] == 0) REQUIRE(back[i] == 0);
        }
        REQUIRE(sent({Codec::kFp16, contribution_of(back), nullptr}) == back);
        feedback.counted(encoder);
        REQUIRE(
            std::ranges::all_of(*feedback.residual(), [](float x) { return std::isfinite(x); }));
    }
}

TEST_CASE("is_finite() finds a single infinity or NaN at any place", "[averaging]") {
    const float infinity = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(is_finite(FloatVector{}));
    CHECK(is_finite(FloatVector{0.0F, kMax, -kMax, std::numeric_limits<float>::denorm_min()}));
    for (const std::size_t size : {1u, 7u, 64u, 1'000u}) {
        for (std::size_t place = 0; place < size; place += 1 + size / 9) {
            for (const float bad : {infinity, -infinity, nan, -nan}) {
                FloatVector numbers(size, 1.0F);
                REQUIRE(is_finite(numbers));
                numbers[place] = bad;
                REQUIRE_FALSE(is_finite(numbers));
            }
        }
    }
    const auto is_half_finite = [](std::uint16_t bits, std::uint8_t exponent) {
        std::vector<std::uint16_t> halves(9, 0x3C00);
        halves[4] = bits;
        return is_finite(wire::Halves{.bits = std::move(halves), .exponent = exponent});
    };
    for (std::uint32_t bits = 0; bits < 1u << 16; ++bits) {
        const bool is = (bits & 0x7C00u) != 0x7C00u;
        for (const std::uint8_t exponent : {wire::kMinHalfExponent, wire::kMaxHalfExponent}) {
            REQUIRE(is_half_finite(static_cast<std::uint16_t>(bits), exponent) == is);
        }
    }
}

TEST_CASE("encode() restores the bits that decode() got, whatever they are", "[averaging]") {
    std::vector<std::uint16_t> bits(1u << 16);
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
    for (const std::uint8_t exponent :
         {wire::kMinHalfExponent, std::uint8_t{127}, wire::kMaxHalfExponent}) {
        const wire::Elements chunk = wire::Halves{.bits = bits, .exponent = exponent};
        const auto values = std::make_shared<const FloatVector>(decoded(chunk));
        for (std::size_t i = 0; i < bits.size(); ++i) {
            const bool is_finite = (bits[i] & 0x7c00u) != 0x7c00u;
            REQUIRE(std::isfinite((*values)[i]) == is_finite);
            if (!is_finite) continue;
            const int mantissa = bits[i] & 0x03ff;
            const int power = (bits[i] >> 10) & 31;
            const double magnitude =
                power == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, power - 25);
            const double value = std::ldexp(magnitude, exponent - 127);
            REQUIRE(double{std::abs((*values)[i])} == value);
        }
        // A NaN may come back as another NaN.
        const FloatVector again = decoded(encode(Codec::kFp16, values, *values, exponent));
        for (std::size_t i = 0; i < bits.size(); ++i) {
            const float x = (*values)[i], y = again[i];
            const bool is_equal =
                std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
            REQUIRE((is_equal || (std::isnan(x) && std::isnan(y))));
        }
    }
}

TEST_CASE("no average overflows, whatever the pieces hold", "[averaging][property]") {
    Random random{9};
    for (int i = 0; i < 200; ++i) {
        // Hostile peers may send any bits and exponents, such as the largest numbers of one sign.
        std::vector<wire::Elements> pieces;
        std::vector<std::uint64_t> weights;
        double bound = 0;
        for (std::uint64_t k = 0, all = 1 + random.below(6); k < all; ++k) {
            const auto exponent = static_cast<std::uint8_t>(60 + random.below(120));
            pieces.push_back(wire::Halves{.bits = std::vector<std::uint16_t>{0x7bff, 0x0001},
                                          .exponent = exponent});
            weights.push_back(1 + random.below(100));
            bound += std::ldexp(65'504.0, exponent - 127);
        }
        std::uint64_t samples = 0;
        for (const std::uint64_t weight : weights) samples += weight;
        bound /= static_cast<double>(samples);
        FloatVector out(2);
        const std::uint8_t exponent = average_of(pieces, weights, out);
        REQUIRE(std::abs(double{out[0]} - bound) <= bound * 0x1p-10);
        const auto again = encode(Codec::kFp16, nullptr, out, exponent);
        REQUIRE(decoded(again) == out);
    }
}

TEST_CASE("the values sent and the residual add up to the contribution", "[averaging][property]") {
    constexpr std::size_t kCount = 20'000;  // several blocks, the last one not full
    const Codec codec = GENERATE(Codec::kFp16, Codec::kBf16, Codec::kInt8);
    INFO(name_of(codec));
    Random random{6};
    Feedback feedback{codec};
    std::vector<double> given(kCount), averaged(kCount);
    const auto check = [&] {
        for (std::size_t i = 0; i < kCount; ++i) {
            const double owed = feedback.residual() ? double{(*feedback.residual())[i]} : 0;
            REQUIRE(std::abs(given[i] - averaged[i] - owed) <= 1e-8);
        }
    };
    for (std::uint64_t round = 1; round <= 30; ++round) {
        const Encoder encoder =
            feedback.freeze(contribution_of(normal_numbers(kCount, round, 1e-3F)));
        const FloatVector back = sent(encoder);
        // A dropped contribution loses its own sum only; the residual stays.
        if (random.below(3) == 0) continue;
        for (std::size_t i = 0; i < kCount; ++i) {
            given[i] += double{(*encoder.contribution().sum)[i]};
            averaged[i] += double{back[i]};
        }
        feedback.counted(encoder);
        check();
    }
    REQUIRE(feedback.residual() != nullptr);
    feedback.forget();
    REQUIRE(feedback.residual() == nullptr);
}

TEST_CASE("with error feedback even gradients that round to 0 have an effect", "[averaging]") {
    const auto with_feedback = [](Feedback& feedback, const Encoder& encoder) {
        feedback.counted(encoder);
    };
    const auto without = [](Feedback&, const Encoder&) {};
    const float exact = where_descent_ends(Codec::kFp32, 0x1p40F, with_feedback);
    REQUIRE(std::abs(exact - 1) < 1e-4F);
    REQUIRE(std::abs(where_descent_ends(Codec::kFp16, 0x1p40F, with_feedback) - 1) < 0.2F);
    REQUIRE(where_descent_ends(Codec::kFp16, 0x1p40F, without) == 0);
    // The scale is 4, and numbers below 2 round to 0.
    REQUIRE(std::abs(where_descent_ends(Codec::kInt8, 0x1p8F, with_feedback) - 1) < 0.2F);
    REQUIRE(where_descent_ends(Codec::kInt8, 0x1p8F, without) == 0);
}
