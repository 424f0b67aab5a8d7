#include "peer/round/codec.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/accumulate.hpp"
#include "kernels/dequantize.hpp"
#include "kernels/global_norm.hpp"
#include "kernels/quantize.hpp"
#include "kernels/weighted_mean.hpp"
#include "peer/base/check.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::round {
namespace {

using kernels::Half;
using kernels::power_of_two;

static_assert(sizeof(Half) == sizeof(std::uint16_t));

/// So few elements at a time that they stay in the nearest caches from one kernel to the next.
constexpr std::size_t kBlock = 8'192;
using Block = std::array<float, kBlock>;

/// Of the bias of an exponent, and of ½ ≤ mantissa < 1, as std::frexp has it.
constexpr int kBias = 127;
/// A contribution's norm is below 2^15: half of what binary16 holds, for its residual comes on top.
constexpr int kNormBits = 15;

std::uint8_t exponent_of(int power) {
    return static_cast<std::uint8_t>(
        std::clamp<int>(kBias + power, wire::kLeastHalfExponent, wire::kMostHalfExponent));
}

std::uint8_t exponent_for(std::span<const float> sum) {
    int power = 0;
    (void)std::frexp(kernels::global_norm(sum), &power);
    return exponent_of(power - kNormBits);
}

/// Of a mean of such contributions: none of its elements is beyond the range, whatever they hold.
std::uint8_t exponent_for(std::span<const wire::Elements> pieces, std::uint64_t samples) {
    double scales = 0;
    for (const wire::Elements& piece : pieces) {
        scales += double{power_of_two(std::get<wire::Halves>(piece).exponent)};
    }
    int power = 0;
    const double mantissa = std::frexp(scales / static_cast<double>(samples), &power);
    return exponent_of(mantissa > 0.5 ? power : power - 1);
}

std::span<Half> as_halves(std::vector<std::uint16_t>& bits) {
    return {reinterpret_cast<Half*>(bits.data()), bits.size()};
}
std::span<const Half> as_halves(const wire::Halves& halves) {
    const auto bits = halves.bits.values();
    return {reinterpret_cast<const Half*>(bits.data()), bits.size()};
}

/// Calls work(first, count) for all of it.
template <class Work>
void for_each_block(std::size_t elements, const Work& work) {
    for (std::size_t first = 0; first < elements; first += kBlock) {
        work(first, std::min(kBlock, elements - first));
    }
}

/// values ÷ 2^(exponent − 127), in `block`.
std::span<float> scaled(std::span<const float> values, std::uint8_t exponent, Block& block) {
    const auto out = std::span{block}.first(values.size());
    std::ranges::copy(values, out.begin());
    kernels::clip(out, power_of_two(2 * kBias - exponent));
    return out;
}

/// Rounds sum + residual; what that takes away is left in `error`, in units of the scale. Whether
/// every number is finite. An empty residual is 0.
bool round_off(std::span<const float> sum, std::span<const float> residual, std::uint8_t exponent,
               Block& error, std::span<Half> out) {
    Block block;
    const auto values = scaled(sum, exponent, block);
    const auto errors = std::span{error}.first(sum.size());
    if (residual.empty()) {
        std::ranges::fill(errors, 0.0F);
    } else {
        (void)scaled(residual, exponent, error);
    }
    return kernels::quantize_with_feedback(values, errors, out);
}

void decode_halves(std::span<const Half> halves, std::uint8_t exponent, std::span<float> out) {
    // Whoever updates a state with it looks whether it is finite.
    (void)kernels::dequantize(halves, out);
    kernels::clip(out, power_of_two(exponent));
}

std::vector<std::uint16_t> halves_of(std::span<const float> values, std::uint8_t exponent) {
    std::vector<std::uint16_t> bits(values.size());
    Block block;
    for_each_block(values.size(), [&](std::size_t first, std::size_t count) {
        const auto block_values = scaled(values.subspan(first, count), exponent, block);
        (void)kernels::quantize(block_values, as_halves(bits).subspan(first, count));
    });
    return bits;
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
    const auto residual = residual_ ? std::span{*residual_}.subspan(first, count) : sum.first(0);
    std::vector<std::uint16_t> bits(count);
    Block error;
    for_each_block(count, [&](std::size_t at, std::size_t size) {
        const auto owed = residual.empty() ? residual : residual.subspan(at, size);
        (void)round_off(sum.subspan(at, size), owed, exponent_, error,
                        as_halves(bits).subspan(at, size));
    });
    return wire::Halves{.bits = std::move(bits), .exponent = exponent_};
}

Encoder Feedback::freeze(Contribution contribution) const {
    return {codec_, std::move(contribution), residual_};
}

void Feedback::counted(Encoder encoder) {
    if (codec_ != Codec::kFp16 || encoder.contribution_.sum == nullptr) return;
    DEDLOC_CHECK(encoder.residual_ == residual_, "feedback is about the last that was frozen");
    const auto sum = std::span{*encoder.contribution_.sum};
    const bool is_first = residual_ == nullptr;
    if (is_first) residual_ = std::make_shared<FloatVector>(sum.size());
    bool is_finite = true;
    std::array<Half, kBlock> halves;
    Block error;
    for_each_block(sum.size(), [&](std::size_t first, std::size_t count) {
        const auto owed = std::span{*residual_}.subspan(first, count);
        is_finite &= round_off(sum.subspan(first, count), owed, encoder.exponent_, error,
                               std::span{halves}.first(count));
        const auto errors = std::span{error}.first(count);
        kernels::clip(errors, power_of_two(encoder.exponent_));
        std::ranges::copy(errors, owed.begin());
    });
    if (!is_finite) forget();
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
    FloatVector sum(out.size());
    for (const wire::Elements& piece : pieces) {
        const auto& halves = std::get<wire::Halves>(piece);
        kernels::accumulate(sum, as_halves(halves), power_of_two(halves.exponent));
    }
    const std::span<const float> part{sum};
    kernels::weighted_mean({&part, 1}, {&samples, 1}, out);
    const std::uint8_t exponent = exponent_for(pieces, samples);
    std::vector<std::uint16_t> bits = halves_of(out, exponent);
    decode_halves(as_halves(bits), exponent, out);
    return exponent;
}

void decode(const wire::Elements& elements, std::span<float> out) {
    if (const auto* floats = std::get_if<SharedSlice<float>>(&elements)) {
        std::ranges::copy(floats->values(), out.begin());
        return;
    }
    const auto& halves = std::get<wire::Halves>(elements);
    decode_halves(as_halves(halves), halves.exponent, out);
}

wire::Elements encode(Codec codec, SharedFloats average, std::span<const float> values,
                      std::uint8_t exponent) {
    if (codec == Codec::kFp32) return SharedSlice<float>{std::move(average), values};
    return wire::Halves{.bits = halves_of(values, exponent), .exponent = exponent};
}

}  // namespace dedloc::round
