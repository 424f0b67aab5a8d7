// All arithmetic runs in kernels (half_lanes, bfloat_lanes, int8_lanes, weighted_mean) under
// ExactArithmetic, so every instruction set gives the same bits. Each rounding codec is one struct:
// Halves, Bfloats and Blocks. With fp16 a contribution's exponent puts its norm below 2^15, so that
// its residual fits as well; an average's exponent is the sum of the contributions' scales over the
// samples, rounded up to a power of two, so no element can overflow. With int8 the bound of the
// exponents (wire::kMaxInt8Exponent) keeps every sum finite. Nothing here may depend on chunk
// bounds. fp32 shares buffers instead of copying.
#include "peer/round/codec.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/bfloat_lanes.hpp"
#include "kernels/exact_arithmetic.hpp"
#include "kernels/finite.hpp"
#include "kernels/global_norm.hpp"
#include "kernels/half_lanes.hpp"
#include "kernels/int8_lanes.hpp"
#include "kernels/weighted_mean.hpp"
#include "peer/base/check.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::round {
namespace {

using kernels::Bfloat16;
using kernels::ExactArithmetic;
using kernels::Half;
using kernels::power_of_two;

static_assert(sizeof(Half) == sizeof(std::uint16_t) && sizeof(Bfloat16) == sizeof(std::uint16_t));
static_assert(kernels::kInt8BlockElements == wire::kInt8BlockElements);
static_assert(wire::kMaxInt8Exponent >= kernels::kInt8MinBound);

/// Elements averaged at a time: sums, means and encoded elements of a block, at most 40 KiB, stay
/// in a near cache.
constexpr std::size_t kBlock = 4'096;
static_assert(kBlock % wire::kInt8BlockElements == 0);

/// Bias of an exponent byte. Powers are those of std::frexp, whose mantissa is in [½, 1).
constexpr int kBias = 127;
/// A scaled contribution's norm is below 2^15, half of binary16's range, for its residual is added.
constexpr int kNormBits = 15;

/// The instruction set of all loops here.
kernels::InstructionSet widest() {
    return kernels::widest_instruction_set();
}

/// Numbers that are about to be written. A std::vector would be filled with zeros first.
template <class Number>
class Fresh {
  public:
    explicit Fresh(std::size_t count)
        : numbers_(std::make_shared_for_overwrite<Number[]>(count)), count_(count) {}
    Number* data() const { return numbers_.get(); }
    SharedSlice<Number> slice() const { return {numbers_, std::span{numbers_.get(), count_}}; }

  private:
    std::shared_ptr<Number[]> numbers_;
    std::size_t count_;
};

// --- fp16 --------------------------------------------------------------------

/// Halves of one exponent.
struct Halves {
    std::uint8_t exponent;

    static std::uint8_t exponent_of(int power) {
        return static_cast<std::uint8_t>(
            std::clamp<int>(kBias + power, wire::kMinHalfExponent, wire::kMaxHalfExponent));
    }
    static Halves for_sum(std::span<const float> sum) {
        int power = 0;
        (void)std::frexp(kernels::global_norm(sum), &power);
        return {exponent_of(power - kNormBits)};
    }
    /// For a mean of such contributions: none of its elements can overflow, whatever they hold.
    static Halves for_mean(std::span<const wire::Elements> pieces, std::uint64_t samples) {
        double scales = 0;
        for (const wire::Elements& piece : pieces) {
            scales += double{power_of_two(std::get<wire::Halves>(piece).exponent)};
        }
        int power = 0;
        const double mantissa = std::frexp(scales / static_cast<double>(samples), &power);
        return {exponent_of(mantissa > 0.5 ? power : power - 1)};
    }
    static const Half* data(const wire::Elements& piece) {
        return reinterpret_cast<const Half*>(std::get<wire::Halves>(piece).bits.values().data());
    }
    static float scale_of(const wire::Elements& piece) {
        return power_of_two(std::get<wire::Halves>(piece).exponent);
    }

    /// 1 ÷ the factor from an encoded half to its value.
    float inverse_scale() const { return power_of_two(2 * kBias - exponent); }

    /// x brings inverse_scale().
    wire::Halves encode(const kernels::Unrounded& x, std::size_t count) const {
        const ExactArithmetic exact;
        const Fresh<std::uint16_t> bits(count);
        (void)kernels::shorten_to_halves(widest(), x, reinterpret_cast<Half*>(bits.data()), count);
        return {.bits = bits.slice(), .exponent = exponent};
    }
    wire::Elements encode_sum(std::span<const float> sum, const float* owed) const {
        // Without a residual, adding +0 removes −0, as adding a residual of zeros would.
        return encode({.values = sum.data(), .scale = inverse_scale(), .owed = owed, .addend = 0},
                      sum.size());
    }
    wire::Elements encode_average(std::span<const float> values) const {
        return encode({.values = values.data(), .scale = inverse_scale()}, values.size());
    }
    std::uint32_t keep_errors(std::span<const float> sum, float* residual) const {
        return kernels::keep_half_errors(widest(), sum.data(), inverse_scale(), residual,
                                         sum.size());
    }
    static void add(const wire::Elements& piece, std::size_t first, std::span<float> sum) {
        kernels::add_halves(widest(), data(piece) + first, scale_of(piece), sum.data(), sum.size());
    }
    void round(std::span<const float> means, std::span<float> out) const {
        std::array<Half, kBlock> halves;
        (void)kernels::shorten_to_halves(widest(),
                                         {.values = means.data(), .scale = inverse_scale()},
                                         halves.data(), means.size());
        kernels::widen_halves(widest(), halves.data(), power_of_two(exponent), out.data(),
                              out.size());
    }
    static bool decode(const wire::Elements& piece, std::span<float> out) {
        kernels::widen_halves(widest(), data(piece), scale_of(piece), out.data(), out.size());
        return is_finite(piece);
    }
};

// --- bf16 --------------------------------------------------------------------

/// bfloat16 numbers.
struct Bfloats {
    static const Bfloat16* data(const wire::Elements& piece) {
        return reinterpret_cast<const Bfloat16*>(
            std::get<wire::Bfloats>(piece).bits.values().data());
    }

    static wire::Elements encode_sum(std::span<const float> sum, const float* owed) {
        const ExactArithmetic exact;
        const Fresh<std::uint16_t> bits(sum.size());
        (void)kernels::shorten_to_bfloats(widest(), sum.data(), owed,
                                          reinterpret_cast<Bfloat16*>(bits.data()), sum.size());
        return wire::Bfloats{.bits = bits.slice()};
    }
    static wire::Elements encode_average(std::span<const float> values) {
        const ExactArithmetic exact;
        const Fresh<std::uint16_t> bits(values.size());
        (void)kernels::shorten_to_bfloats(widest(), values.data(),
                                          reinterpret_cast<Bfloat16*>(bits.data()), values.size());
        return wire::Bfloats{.bits = bits.slice()};
    }
    static std::uint32_t keep_errors(std::span<const float> sum, float* residual) {
        return kernels::keep_bfloat_errors(widest(), sum.data(), residual, sum.size());
    }
    static void add(const wire::Elements& piece, std::size_t first, std::span<float> sum) {
        kernels::add_bfloats(widest(), data(piece) + first, sum.data(), sum.size());
    }
    static void round(std::span<const float> means, std::span<float> out) {
        std::array<Bfloat16, kBlock> bfloats;
        (void)kernels::shorten_to_bfloats(widest(), means.data(), bfloats.data(), means.size());
        (void)kernels::widen_bfloats(widest(), bfloats.data(), out.data(), out.size());
    }
    static bool decode(const wire::Elements& piece, std::span<float> out) {
        return kernels::widen_bfloats(widest(), data(piece), out.data(), out.size()) == 0;
    }
};

// --- int8 --------------------------------------------------------------------

/// int8 blocks. The vectors here begin at a block.
struct Blocks {
    static std::size_t count_of(std::size_t elements) {
        return kernels::int8_block_count(elements);
    }
    static kernels::Unquantized unquantized(std::span<const float> values, const float* owed) {
        return {.values = values.data(), .owed = owed, .max_exponent = wire::kMaxInt8Exponent};
    }
    /// The largest exponent of any block.
    static std::uint8_t max_exponent_of(std::span<const float> sum, const float* owed) {
        const ExactArithmetic exact;
        const std::uint32_t exponent = kernels::int8_exponent(
            kernels::largest_magnitude(widest(), sum.data(), owed, sum.size()));
        return static_cast<std::uint8_t>(std::min<std::uint32_t>(exponent, wire::kMaxInt8Exponent));
    }

    static wire::Elements encode_sum(std::span<const float> sum, const float* owed) {
        const ExactArithmetic exact;
        const Fresh<std::int8_t> codes(sum.size());
        const Fresh<std::uint8_t> exponents(count_of(sum.size()));
        (void)kernels::shorten_to_int8(widest(), unquantized(sum, owed), codes.data(),
                                       exponents.data(), sum.size());
        return wire::Int8Blocks{.codes = codes.slice(), .exponents = exponents.slice()};
    }
    static wire::Elements encode_average(std::span<const float> values) {
        return encode_sum(values, nullptr);
    }
    static std::uint32_t keep_errors(std::span<const float> sum, float* residual) {
        return kernels::keep_int8_errors(widest(), sum.data(), wire::kMaxInt8Exponent, residual,
                                         sum.size());
    }
    static void add(const wire::Elements& piece, std::size_t first, std::span<float> sum) {
        const auto& blocks = std::get<wire::Int8Blocks>(piece);
        kernels::add_int8(widest(), blocks.codes.values().data() + first,
                          blocks.exponents.values().data() + count_of(first), sum.data(),
                          sum.size());
    }
    static void round(std::span<const float> means, std::span<float> out) {
        std::array<std::int8_t, kBlock> codes;
        std::array<std::uint8_t, kBlock / wire::kInt8BlockElements> exponents;
        (void)kernels::shorten_to_int8(widest(), unquantized(means, nullptr), codes.data(),
                                       exponents.data(), means.size());
        (void)kernels::widen_int8(widest(), codes.data(), exponents.data(), out.data(), out.size());
    }
    static bool decode(const wire::Elements& piece, std::span<float> out) {
        const auto& blocks = std::get<wire::Int8Blocks>(piece);
        (void)kernels::widen_int8(widest(), blocks.codes.values().data(),
                                  blocks.exponents.values().data(), out.data(), out.size());
        return is_finite(piece);
    }
};

// --- all rounding codecs -----------------------------------------------------

/// Sums the pieces in their order, divides by `samples` and rounds, block by block.
template <class Rounding>
void average_blocks(const Rounding& rounding, std::span<const wire::Elements> pieces,
                    std::uint64_t samples, std::span<float> out) {
    const ExactArithmetic exact;
    alignas(64) std::array<float, kBlock> sums;
    alignas(64) std::array<float, kBlock> means;
    for (std::size_t first = 0; first < out.size(); first += kBlock) {
        const std::size_t count = std::min(kBlock, out.size() - first);
        const auto sum = std::span{sums}.first(count);
        const auto mean = std::span{means}.first(count);
        std::ranges::fill(sum, 0.0F);
        for (const wire::Elements& piece : pieces) rounding.add(piece, first, sum);
        const std::span<const float> part{sum};
        kernels::weighted_mean({&part, 1}, {&samples, 1}, mean);
        rounding.round(mean, out.subspan(first, count));
    }
}

void average_floats(std::span<const wire::Elements> pieces, std::span<const std::uint64_t> weights,
                    std::span<float> out) {
    std::vector<std::span<const float>> parts;
    parts.reserve(pieces.size());
    for (const wire::Elements& piece : pieces) {
        parts.push_back(std::get<SharedSlice<float>>(piece).values());
    }
    kernels::weighted_mean(parts, weights, out);
}

/// True if bits of no number have these exponent bits all set, which means infinite or NaN.
bool have_no_set(std::span<const std::uint16_t> numbers, std::uint16_t exponent_bits) {
    std::uint16_t found = 0;
    for (const std::uint16_t bits : numbers) {
        found |= static_cast<std::uint16_t>((bits & exponent_bits) == exponent_bits ? 1 : 0);
    }
    return found == 0;
}

/// A block is checked while it is in the processor's cache.
bool copy_finite(std::span<const float> from, std::span<float> to) {
    constexpr std::size_t kFloats = 4'096;
    bool is_every_one_finite = true;
    for (std::size_t done = 0; done < from.size() && is_every_one_finite; done += kFloats) {
        const auto block = from.subspan(done, std::min(kFloats, from.size() - done));
        std::ranges::copy(block, to.subspan(done).begin());
        is_every_one_finite = kernels::all_finite(block);
    }
    return is_every_one_finite;
}

}  // namespace

// --- contributions -----------------------------------------------------------

Encoder::Encoder(Codec codec, Contribution contribution, SharedFloats residual)
    : codec_(codec), contribution_(std::move(contribution)), residual_(std::move(residual)) {
    if (codec_ == Codec::kFp32 || contribution_.sum == nullptr) return;
    const auto& sum = *contribution_.sum;
    DEDLOC_CHECK(residual_ == nullptr || residual_->size() == sum.size(),
                 "a residual is as long as the sum", sum.size());
    const float* const owed = residual_ == nullptr ? nullptr : residual_->data();
    if (codec_ == Codec::kFp16) exponent_ = Halves::for_sum(sum).exponent;
    if (codec_ == Codec::kInt8) exponent_ = Blocks::max_exponent_of(sum, owed);
}

wire::Elements Encoder::piece(std::uint64_t first, std::uint64_t count) const {
    const auto sum = std::span{*contribution_.sum}.subspan(first, count);
    const float* const owed = residual_ == nullptr ? nullptr : residual_->data() + first;
    switch (codec_) {
        case Codec::kFp16:
            return Halves{exponent_}.encode_sum(sum, owed);
        case Codec::kBf16:
            return Bfloats::encode_sum(sum, owed);
        case Codec::kInt8:
            DEDLOC_CHECK(first % wire::kInt8BlockElements == 0, "a piece begins at a block", first);
            DEDLOC_CHECK(
                count % wire::kInt8BlockElements == 0 || first + count == contribution_.sum->size(),
                "a piece ends with a block", first, count);
            return Blocks::encode_sum(sum, owed);
        case Codec::kFp32:
            break;
    }
    return SharedSlice<float>{contribution_.sum, sum};
}

Encoder Feedback::freeze(Contribution contribution) const {
    return {codec_, std::move(contribution), residual_};
}

void Feedback::counted(Encoder encoder) {
    if (codec_ == Codec::kFp32 || encoder.contribution_.sum == nullptr) return;
    DEDLOC_CHECK(encoder.residual_ == residual_, "the contribution frozen last is counted");
    const auto sum = std::span{*encoder.contribution_.sum};
    if (residual_ == nullptr) residual_ = std::make_shared<FloatVector>(sum.size());
    const ExactArithmetic exact;
    const auto keep_errors = [&]() -> std::uint32_t {
        float* const residual = residual_->data();
        if (codec_ == Codec::kBf16) return Bfloats::keep_errors(sum, residual);
        if (codec_ == Codec::kInt8) return Blocks::keep_errors(sum, residual);
        return Halves{encoder.exponent_}.keep_errors(sum, residual);
    };
    if (keep_errors() != 0) forget();
}

// --- averages ----------------------------------------------------------------

std::uint8_t average_of(std::span<const wire::Elements> pieces,
                        std::span<const std::uint64_t> weights, std::span<float> out) {
    std::uint64_t samples = 0;
    for (const std::uint64_t weight : weights) samples += weight;
    for (const wire::Elements& piece : pieces) {
        DEDLOC_CHECK(count_of(piece) == out.size(), "pieces are as long as their average",
                     count_of(piece), out.size());
    }
    switch (codec_of(pieces.front())) {
        case Codec::kFp16: {
            const Halves halves = Halves::for_mean(pieces, samples);
            average_blocks(halves, pieces, samples, out);
            return halves.exponent;
        }
        case Codec::kBf16:
            average_blocks(Bfloats{}, pieces, samples, out);
            break;
        case Codec::kInt8:
            average_blocks(Blocks{}, pieces, samples, out);
            break;
        case Codec::kFp32:
            average_floats(pieces, weights, out);
            break;
    }
    return 0;
}

bool is_finite(const wire::Elements& elements) {
    switch (codec_of(elements)) {
        case Codec::kFp16:
            return have_no_set(std::get<wire::Halves>(elements).bits.values(), 0x7C00);
        case Codec::kBf16:
            return have_no_set(std::get<wire::Bfloats>(elements).bits.values(), 0x7F80);
        case Codec::kInt8:
            return true;
        case Codec::kFp32:
            break;
    }
    return kernels::all_finite(std::get<SharedSlice<float>>(elements).values());
}

bool is_summable(const wire::Elements& elements) {
    // As many as a round has members add up to less than 2^127. The scales of the other codecs are
    // bounded for that (wire/limits.hpp).
    constexpr int kLogMembers = 10;
    static_assert(wire::kMaxMembers == 1u << kLogMembers);
    constexpr int kExponent = 127 - kLogMembers;
    if (const auto* bfloats = std::get_if<wire::Bfloats>(&elements)) {
        constexpr std::uint16_t kTooLarge = (127 + kExponent) << 7;
        std::uint16_t found = 0;
        for (const std::uint16_t bits : bfloats->bits.values()) {
            found |= static_cast<std::uint16_t>((bits & 0x7F80) >= kTooLarge ? 1 : 0);
        }
        return found == 0;
    }
    if (const auto* floats = std::get_if<SharedSlice<float>>(&elements)) {
        return kernels::all_below(floats->values(), std::ldexp(1.0F, kExponent));
    }
    return is_finite(elements);
}

bool is_as_joined(const wire::Elements& elements, std::uint8_t exponent) {
    if (const auto* halves = std::get_if<wire::Halves>(&elements)) {
        return halves->exponent == exponent;
    }
    if (const auto* blocks = std::get_if<wire::Int8Blocks>(&elements)) {
        const auto exponents = blocks->exponents.values();
        return std::ranges::all_of(exponents, [&](auto e) { return e <= exponent; });
    }
    return true;
}

bool decode(const wire::Elements& elements, std::span<float> out) {
    DEDLOC_CHECK(count_of(elements) == out.size(), "decode() fills its whole output", out.size());
    const ExactArithmetic exact;
    switch (codec_of(elements)) {
        case Codec::kFp16:
            return Halves::decode(elements, out);
        case Codec::kBf16:
            return Bfloats::decode(elements, out);
        case Codec::kInt8:
            return Blocks::decode(elements, out);
        case Codec::kFp32:
            break;
    }
    return copy_finite(std::get<SharedSlice<float>>(elements).values(), out);
}

wire::Elements encode(Codec codec, SharedFloats average, std::span<const float> values,
                      std::uint8_t exponent) {
    switch (codec) {
        case Codec::kFp16:
            return Halves{exponent}.encode_average(values);
        case Codec::kBf16:
            return Bfloats::encode_average(values);
        case Codec::kInt8:
            return Blocks::encode_average(values);
        case Codec::kFp32:
            break;
    }
    return SharedSlice<float>{std::move(average), values};
}

}  // namespace dedloc::round
