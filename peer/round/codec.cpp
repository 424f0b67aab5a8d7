// All fp16 arithmetic runs in kernels (half_lanes, weighted_mean) under ExactArithmetic, so
// every instruction set gives the same bits. A contribution's exponent puts its norm below 2^15, so
// that its residual fits as well. An average's exponent is the sum of the contributions' scales
// over the samples, rounded up to a power of two, so no element can overflow. Nothing here may
// depend on chunk bounds. fp32 shares buffers instead of copying.
#include "peer/round/codec.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/exact_arithmetic.hpp"
#include "kernels/finite.hpp"
#include "kernels/global_norm.hpp"
#include "kernels/half_lanes.hpp"
#include "kernels/weighted_mean.hpp"
#include "peer/base/check.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::round {
namespace {

using kernels::Half;
using kernels::power_of_two;

static_assert(sizeof(Half) == sizeof(std::uint16_t));

/// Elements averaged at a time: sums, means and halves of a block, 40 KiB, stay in a near cache.
constexpr std::size_t kBlock = 4'096;

/// Bias of an exponent byte. Powers are those of std::frexp, whose mantissa is in [½, 1).
constexpr int kBias = 127;
/// A scaled contribution's norm is below 2^15, half of binary16's range, for its residual is added.
constexpr int kNormBits = 15;

std::uint8_t exponent_of(int power) {
    return static_cast<std::uint8_t>(
        std::clamp<int>(kBias + power, wire::kMinHalfExponent, wire::kMaxHalfExponent));
}

std::uint8_t exponent_for(std::span<const float> sum) {
    int power = 0;
    (void)std::frexp(kernels::global_norm(sum), &power);
    return exponent_of(power - kNormBits);
}

/// The exponent for a mean of such contributions: none of its elements can overflow, whatever the
/// pieces hold.
std::uint8_t exponent_for(std::span<const wire::Elements> pieces, std::uint64_t samples) {
    double scales = 0;
    for (const wire::Elements& piece : pieces) {
        scales += double{power_of_two(std::get<wire::Halves>(piece).exponent)};
    }
    int power = 0;
    const double mantissa = std::frexp(scales / static_cast<double>(samples), &power);
    return exponent_of(mantissa > 0.5 ? power : power - 1);
}

std::span<const Half> as_halves(const wire::Halves& halves) {
    const auto bits = halves.bits.values();
    return {reinterpret_cast<const Half*>(bits.data()), bits.size()};
}

/// The factor from an encoded half to its value.
float scale_of(std::uint8_t exponent) {
    return power_of_two(exponent);
}
/// 1 ÷ scale_of(exponent).
float inverse_scale_of(std::uint8_t exponent) {
    return power_of_two(2 * kBias - exponent);
}

/// x rounded to halves of this exponent; x brings the inverse of the scale.
wire::Halves rounded(const kernels::Unrounded& x, std::size_t count, std::uint8_t exponent) {
    const kernels::ExactArithmetic exact;
    // A std::vector would be filled with zeros first.
    const auto bits = std::make_shared_for_overwrite<std::uint16_t[]>(count);
    (void)kernels::shorten_to_halves(kernels::widest_instruction_set(), x,
                                     reinterpret_cast<Half*>(bits.get()), count);
    return {.bits = SharedSlice<std::uint16_t>{bits, std::span{bits.get(), count}},
            .exponent = exponent};
}

}  // namespace

// --- contributions -----------------------------------------------------------

Encoder::Encoder(Codec codec, Contribution contribution, SharedFloats residual)
    : codec_(codec), contribution_(std::move(contribution)), residual_(std::move(residual)) {
    if (codec_ != Codec::kFp16 || contribution_.sum == nullptr) return;
    DEDLOC_CHECK(residual_ == nullptr || residual_->size() == contribution_.sum->size(),
                 "a residual is as long as the sum", contribution_.sum->size());
    exponent_ = exponent_for(*contribution_.sum);
}

wire::Elements Encoder::piece(std::uint64_t first, std::uint64_t count) const {
    const auto sum = std::span{*contribution_.sum}.subspan(first, count);
    if (codec_ == Codec::kFp32) return SharedSlice<float>{contribution_.sum, sum};
    const float scale = inverse_scale_of(exponent_);
    if (residual_ == nullptr) {
        // Adding +0 removes −0, as adding a residual of zeros would.
        return rounded({.values = sum.data(), .scale = scale, .addend = 0}, count, exponent_);
    }
    const auto owed = std::span{*residual_}.subspan(first, count);
    return rounded({.values = sum.data(), .scale = scale, .owed = owed.data()}, count, exponent_);
}

Encoder Feedback::freeze(Contribution contribution) const {
    return {codec_, std::move(contribution), residual_};
}

void Feedback::counted(Encoder encoder) {
    if (codec_ != Codec::kFp16 || encoder.contribution_.sum == nullptr) return;
    DEDLOC_CHECK(encoder.residual_ == residual_, "the contribution frozen last is counted");
    const auto sum = std::span{*encoder.contribution_.sum};
    if (residual_ == nullptr) residual_ = std::make_shared<FloatVector>(sum.size());
    const kernels::ExactArithmetic exact;
    const std::uint32_t bad = kernels::keep_half_errors(
        kernels::widest_instruction_set(), sum.data(), inverse_scale_of(encoder.exponent_),
        residual_->data(), sum.size());
    if (bad != 0) forget();
}

// --- averages ----------------------------------------------------------------

std::uint8_t average_of(std::span<const wire::Elements> pieces,
                        std::span<const std::uint64_t> weights, std::span<float> out) {
    if (codec_of(pieces.front()) == Codec::kFp32) {
        std::vector<std::span<const float>> parts;
        parts.reserve(pieces.size());
        for (const wire::Elements& piece : pieces) {
            parts.push_back(std::get<SharedSlice<float>>(piece).values());
        }
        kernels::weighted_mean(parts, weights, out);
        return 0;
    }
    std::uint64_t samples = 0;
    for (const std::uint64_t weight : weights) samples += weight;
    for (const wire::Elements& piece : pieces) {
        DEDLOC_CHECK(count_of(piece) == out.size(), "pieces are as long as their average",
                     count_of(piece), out.size());
    }
    const std::uint8_t exponent = exponent_for(pieces, samples);
    const kernels::ExactArithmetic exact;
    const auto set = kernels::widest_instruction_set();
    alignas(64) std::array<float, kBlock> sums;
    alignas(64) std::array<float, kBlock> means;
    std::array<Half, kBlock> halves;
    for (std::size_t first = 0; first < out.size(); first += kBlock) {
        const std::size_t count = std::min(kBlock, out.size() - first);
        const auto sum = std::span{sums}.first(count);
        const auto mean = std::span{means}.first(count);
        std::ranges::fill(sum, 0.0F);
        for (const wire::Elements& piece : pieces) {
            const auto& rounded = std::get<wire::Halves>(piece);
            const auto part = as_halves(rounded).subspan(first, count);
            kernels::add_halves(set, part.data(), scale_of(rounded.exponent), sum.data(), count);
        }
        const std::span<const float> part{sum};
        kernels::weighted_mean({&part, 1}, {&samples, 1}, mean);
        (void)kernels::shorten_to_halves(
            set, {.values = mean.data(), .scale = inverse_scale_of(exponent)}, halves.data(),
            count);
        kernels::widen_halves(set, halves.data(), scale_of(exponent), out.data() + first, count);
    }
    return exponent;
}

bool is_finite(const wire::Elements& elements) {
    if (const auto* floats = std::get_if<SharedSlice<float>>(&elements)) {
        return kernels::all_finite(floats->values());
    }
    constexpr std::uint16_t kExponentBits = 0x7C00;  // all set: infinite or NaN
    std::uint16_t found = 0;
    for (const std::uint16_t half : std::get<wire::Halves>(elements).bits.values()) {
        found |= static_cast<std::uint16_t>((half & kExponentBits) == kExponentBits ? 1 : 0);
    }
    return found == 0;
}

void decode(const wire::Elements& elements, std::span<float> out) {
    DEDLOC_CHECK(count_of(elements) == out.size(), "decode() fills its whole output", out.size());
    if (const auto* floats = std::get_if<SharedSlice<float>>(&elements)) {
        std::ranges::copy(floats->values(), out.begin());
        return;
    }
    const auto& halves = std::get<wire::Halves>(elements);
    const kernels::ExactArithmetic exact;
    // Not checked here: the update of the state checks that the average is finite.
    kernels::widen_halves(kernels::widest_instruction_set(), as_halves(halves).data(),
                          scale_of(halves.exponent), out.data(), out.size());
}

wire::Elements encode(Codec codec, SharedFloats average, std::span<const float> values,
                      std::uint8_t exponent) {
    if (codec == Codec::kFp32) return SharedSlice<float>{std::move(average), values};
    return rounded({.values = values.data(), .scale = inverse_scale_of(exponent)}, values.size(),
                   exponent);
}

}  // namespace dedloc::round
