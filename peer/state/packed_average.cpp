// fp16: halves, then one byte, the exponent of their scale. int8: codes, then the exponents of
// their blocks. All are little-endian. The scales are chosen anew, as small as the largest element
// permits: no scale that the average had can be smaller, so every element stays exact. pack()
// checks that all the same, for a retained average may have been damaged in memory.
#include "peer/state/packed_average.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/bfloat_lanes.hpp"
#include "kernels/exact_arithmetic.hpp"
#include "kernels/half_lanes.hpp"
#include "kernels/int8_lanes.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::state {
namespace {

using kernels::Bfloat16;
using kernels::Half;

static_assert(std::endian::native == std::endian::little);

/// Bias of an exponent byte, and the power of two above binary16's largest number.
constexpr int kBias = 127;
constexpr int kHalfBits = 16;

kernels::InstructionSet widest() {
    return kernels::widest_instruction_set();
}

template <class Number>
void append(Buffer& out, const std::vector<Number>& numbers) {
    const auto bytes = std::as_bytes(std::span{numbers});
    out.insert(out.end(), bytes.begin(), bytes.end());
}

/// The first `count` numbers of `packed`, aligned.
template <class Number>
std::vector<Number> take(std::span<const std::byte>& packed, std::size_t count) {
    std::vector<Number> numbers(count);
    std::memcpy(numbers.data(), packed.data(), count * sizeof(Number));
    packed = packed.subspan(count * sizeof(Number));
    return numbers;
}

/// The exponent byte of the smallest scale with which every element is within binary16's range.
std::uint8_t half_exponent(std::span<const float> values) {
    const std::uint32_t largest =
        kernels::largest_magnitude(widest(), values.data(), nullptr, values.size());
    int power = 0;
    (void)std::frexp(std::bit_cast<float>(largest), &power);
    return static_cast<std::uint8_t>(
        std::clamp<int>(kBias + power - kHalfBits, wire::kMinHalfExponent, wire::kMaxHalfExponent));
}

void pack_halves(std::span<const float> values, Buffer& out) {
    const std::uint8_t exponent = half_exponent(values);
    std::vector<Half> halves(values.size());
    (void)kernels::shorten_to_halves(
        widest(), {.values = values.data(), .scale = kernels::power_of_two(2 * kBias - exponent)},
        halves.data(), halves.size());
    append(out, halves);
    out.push_back(std::byte{exponent});
}

void pack_bfloats(std::span<const float> values, Buffer& out) {
    std::vector<Bfloat16> bfloats(values.size());
    (void)kernels::shorten_to_bfloats(widest(), values.data(), bfloats.data(), bfloats.size());
    append(out, bfloats);
}

void pack_blocks(std::span<const float> values, Buffer& out) {
    std::vector<std::int8_t> codes(values.size());
    std::vector<std::uint8_t> exponents(kernels::int8_block_count(values.size()));
    (void)kernels::shorten_to_int8(widest(), {.values = values.data()}, codes.data(),
                                   exponents.data(), values.size());
    append(out, codes);
    append(out, exponents);
}

}  // namespace

std::uint64_t packed_bytes(Codec codec, std::uint64_t elements) {
    switch (codec) {
        case Codec::kFp16:
            return elements * sizeof(Half) + 1;
        case Codec::kBf16:
            return elements * sizeof(Bfloat16);
        case Codec::kInt8:
            return elements + kernels::int8_block_count(elements);
        case Codec::kFp32:
            break;
    }
    return elements * sizeof(float);
}

std::uint32_t rounds_of_a_state(const RoundRules& rules) {
    const std::uint64_t average = packed_bytes(rules.codec, rules.elements);
    return static_cast<std::uint32_t>((rules.state_bytes() + average - 1) / average) + 2;
}

std::optional<Buffer> pack(Codec codec, std::span<const float> values) {
    if (codec == Codec::kFp32 || values.empty()) return {};
    const kernels::ExactArithmetic exact;
    Buffer packed;
    packed.reserve(packed_bytes(codec, values.size()));
    if (codec == Codec::kFp16) pack_halves(values, packed);
    if (codec == Codec::kBf16) pack_bfloats(values, packed);
    if (codec == Codec::kInt8) pack_blocks(values, packed);
    std::vector<float> restored(values.size());
    const bool is_same = unpack(codec, packed, restored) &&
                         std::memcmp(restored.data(), values.data(), values.size_bytes()) == 0;
    return is_same ? std::optional{std::move(packed)} : std::nullopt;
}

bool unpack(Codec codec, std::span<const std::byte> packed, std::span<float> values) {
    if (codec == Codec::kFp32 || packed.size() != packed_bytes(codec, values.size())) return false;
    const kernels::ExactArithmetic exact;
    const std::size_t count = values.size();
    if (codec == Codec::kFp16) {
        const auto halves = take<Half>(packed, count);
        const auto exponent = std::clamp(std::to_integer<std::uint8_t>(packed.front()),
                                         wire::kMinHalfExponent, wire::kMaxHalfExponent);
        kernels::widen_halves(widest(), halves.data(), kernels::power_of_two(exponent),
                              values.data(), count);
    } else if (codec == Codec::kBf16) {
        const auto bfloats = take<Bfloat16>(packed, count);
        (void)kernels::widen_bfloats(widest(), bfloats.data(), values.data(), count);
    } else {
        const auto codes = take<std::int8_t>(packed, count);
        auto exponents = take<std::uint8_t>(packed, kernels::int8_block_count(count));
        for (std::uint8_t& exponent : exponents) exponent = std::max<std::uint8_t>(exponent, 1);
        (void)kernels::widen_int8(widest(), codes.data(), exponents.data(), values.data(), count);
    }
    return true;
}

}  // namespace dedloc::state
