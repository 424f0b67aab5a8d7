// binary16 with the processor's conversions: the bits are those of the slow reference, for any
// values at any positions in a group of lanes.
#include "kernels/half_lanes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <iterator>
#include <span>
#include <vector>

#include "tests/kernels/every_worker.hpp"
#include "tests/kernels/inputs.hpp"
#include "tests/kernels/slow_codec.hpp"

using namespace dedloc;
using namespace dedloc::kernels;

namespace {

using Floats = std::vector<float>;
using Halves = std::vector<Half>;

/// The largest group of lanes of any instruction set.
constexpr std::size_t kGroup = 16;

/// Values at every boundary of rounding and of the code path, with both signs.
Floats turning_points() {
    constexpr auto kBits = std::to_array<std::uint32_t>({
        // 0, denormals, the least normal
        0x00000000,
        0x00000001,
        0x007fffff,
        0x00800000,
        // 2⁻²⁵: half of the least half
        0x32ffffff,
        0x33000000,
        0x33000001,
        // 2⁻²⁴, the least half, and 1½ of it
        0x337fffff,
        0x33800000,
        0x33800001,
        0x33bfffff,
        0x33c00000,
        0x33c00001,
        // the largest subnormal half, halfway to the least normal one, and past that
        0x387fbfff,
        0x387fc000,
        0x387fdfff,
        0x387fe000,
        0x387fe001,
        0x38800000,
        0x38800001,
        // ties between normal halves
        0x38801000,
        0x38803000,
        0x3f800fff,
        0x3f801000,
        0x3f801001,
        0x3f803000,
        // 65,504, the largest half; 65,520, which is as far from 65,536
        0x477fdfff,
        0x477fe000,
        0x477fe001,
        0x477fefff,
        0x477ff000,
        0x477ff001,
        // 65,536, 1e30, the largest float
        0x47800000,
        0x7149f2ca,
        0x7f7fffff,
    });
    Floats values;
    for (const std::uint32_t bits : kBits) {
        values.push_back(std::bit_cast<float>(bits));
        values.push_back(std::bit_cast<float>(bits | 0x80000000));
    }
    return values;
}

/// Infinities, and NaNs with every kind of payload, quiet and signalling.
Floats not_finite() {
    Floats values;
    for (const std::uint32_t bits :
         {0x7f800000u, 0x7f800001u, 0x7fa5a5a5u, 0x7fbfffffu, 0x7fc00000u, 0x7fffffffu}) {
        values.push_back(std::bit_cast<float>(bits));
        values.push_back(std::bit_cast<float>(bits | 0x80000000));
    }
    return values;
}

bool is_half_finite(Half half) {
    return (half.bits & 0x7c00) != 0x7c00;
}

/// NaN keeps its sign and payload.
float widened(Half half) {
    const std::uint32_t bits = half.bits;
    if (is_half_finite(half)) return static_cast<float>(tests::slow::half_value(half.bits));
    return std::bit_cast<float>((bits & 0x8000) << 16 | 0x7f800000 | (bits & 0x3ff) << 13);
}

template <class Range>
std::uint32_t count_bad(const Range& values) {
    return static_cast<std::uint32_t>(std::ranges::count_if(values, [](float x) {
        return (std::bit_cast<std::uint32_t>(x) & 0x7f800000) == 0x7f800000;
    }));
}

/// Fills the memory around a result, which must not change.
constexpr std::uint16_t kGuard = 0x5a5a;
constexpr float kFloatGuard = 1234.5F;

/// scale × values[i] + scale × owed[i], each operation rounded separately.
Floats unrounded(std::span<const float> values, std::span<const float> owed, float scale) {
    Floats sums(values.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const volatile float value = scale * values[i];
        const volatile float debt = scale * owed[i];
        const volatile float sum = value + debt;
        sums[i] = sum;
    }
    return sums;
}

/// Calls shorten(out), which returns how many x are not finite. Returns how many results are wrong.
template <class Shorten>
std::size_t wrong_halves(const Floats& x, const Shorten& shorten) {
    Halves out(x.size() + 2, Half{kGuard});
    std::size_t wrong = shorten(out.data() + 1) == count_bad(x) ? 0 : 1;
    for (std::size_t i = 0; i < x.size(); ++i) {
        wrong += out[i + 1].bits == tests::slow::half_bits(x[i]) ? 0u : 1u;
    }
    return wrong + (out.front().bits == kGuard && out.back().bits == kGuard ? 0u : 1u);
}

/// The same for keep(error), which computes rounding errors.
template <class Keep>
std::size_t wrong_errors(const Floats& x, std::span<const float> owed, float scale,
                         const Keep& keep) {
    Floats error(x.size() + 2, kFloatGuard);
    std::ranges::copy(owed, error.begin() + 1);
    std::size_t wrong = keep(error.data() + 1) == count_bad(x) ? 0 : 1;
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (!is_finite(x[i])) continue;  // its rounding error is unspecified
        const double half = tests::slow::half_value(tests::slow::half_bits(x[i]));
        const volatile float taken = x[i] - static_cast<float>(half);
        const volatile float expected = taken / scale;
        wrong += tests::same_bits(error[i + 1], expected) ? 0u : 1u;
    }
    return wrong + (error.front() == kFloatGuard && error.back() == kFloatGuard ? 0u : 1u);
}

/// Shortens `values` with every function. Returns how many results are wrong.
std::size_t wrong_shortened(InstructionSet set, std::span<const float> values,
                            std::span<const float> owed, float scale) {
    const std::size_t count = values.size();
    const float* const from = values.data();
    std::size_t wrong = wrong_halves({values.begin(), values.end()}, [&](Half* out) {
        return shorten_to_halves(set, {.values = from}, out, count);
    });
    wrong += wrong_halves(unrounded(values, Floats(count), scale), [&](Half* out) {
        return shorten_to_halves(set, {.values = from, .scale = scale, .addend = 0}, out, count);
    });
    const Floats scaled = unrounded(values, owed, scale);
    wrong += wrong_halves(scaled, [&](Half* out) {
        const Unrounded x{.values = from, .scale = scale, .owed = owed.data()};
        return shorten_to_halves(set, x, out, count);
    });
    return wrong + wrong_errors(scaled, owed, scale, [&](float* error) {
               return keep_half_errors(set, from, scale, error, count);
           });
}

std::size_t wrong_widened(InstructionSet set, std::span<const Half> halves) {
    std::size_t wrong = 0;
    for (const float scale : {0x1p-102F, 1.0F, 0x1p112F}) {
        Floats scaled(halves.size() + 2, kFloatGuard);
        Floats sum(halves.size() + 2, kFloatGuard);
        widen_halves(set, halves.data(), scale, scaled.data() + 1, halves.size());
        add_halves(set, halves.data(), scale, sum.data() + 1, halves.size());
        for (std::size_t i = 0; i < halves.size(); ++i) {
            const volatile float term = scale * widened(halves[i]);
            const volatile float next = kFloatGuard + term;
            wrong += tests::same_bits(scaled[i + 1], term) ? 0u : 1u;
            wrong += tests::same_bits(sum[i + 1], next) ? 0u : 1u;
        }
        wrong += scaled.front() == kFloatGuard && scaled.back() == kFloatGuard ? 0u : 1u;
        wrong += sum.front() == kFloatGuard && sum.back() == kFloatGuard ? 0u : 1u;
    }
    return wrong;
}

/// Ordinary numbers and, one in `rarity`, special ones.
Floats mixed(Random& random, std::size_t count, std::uint64_t rarity) {
    static const Floats special = [] {
        Floats all = turning_points();
        std::ranges::copy(not_finite(), std::back_inserter(all));
        return all;
    }();
    Floats values = tests::ordinary(random, count, 100);
    for (float& x : values) {
        if (random.below(rarity) == 0) x = special[random.below(special.size())];
    }
    return values;
}

}  // namespace

TEST_CASE("every lane rounds correctly, with any value in another lane", "[kernels]") {
    Floats special = turning_points();
    std::ranges::copy(not_finite(), std::back_inserter(special));
    const Floats ordinary = tests::ordinary(Random{1}, 2 * kGroup, 100);
    const Floats errors = tests::ordinary(Random{2}, 2 * kGroup, 0.01);
    const Floats no_errors(2 * kGroup);
    for (const InstructionSet set : tests::every_width()) {
        INFO(name_of(set));
        std::size_t wrong = 0;
        for (const float x : special) {
            for (std::size_t lane = 0; lane < 2 * kGroup; ++lane) {
                Floats values = ordinary;
                values[lane] = x;
                for (const float scale : {0x1p-112F, 0.5F, 1.0F, 0x1p10F, 0x1p102F}) {
                    wrong += wrong_shortened(set, values, errors, scale);
                    wrong += wrong_shortened(set, values, no_errors, scale);
                    // In one lane only, the owed value is, or makes the sum, beyond the range.
                    if (is_finite(x)) wrong += wrong_shortened(set, no_errors, values, scale);
                }
            }
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("halves are rounded at any length and address, and memory around them is not written",
          "[kernels]") {
    for (const InstructionSet set : tests::every_width()) {
        INFO(name_of(set));
        Random random{3};
        std::size_t wrong = 0;
        for (std::size_t start = 0; start < kGroup; ++start) {
            for (std::size_t count = 0; count <= 3 * kGroup + 1; ++count) {
                for (const std::uint64_t rarity : {2u, 20u, 1000u}) {
                    const Floats values = mixed(random, start + count, rarity);
                    const Floats errors = tests::ordinary(random, start + count, 1e-3);
                    const float scale = rarity == 20 ? 0x1p-8F : 1.0F;
                    wrong += wrong_shortened(set, std::span{values}.subspan(start),
                                             std::span{errors}.subspan(start), scale);
                    Halves halves(start + count);
                    for (Half& half : halves) {
                        half.bits = static_cast<std::uint16_t>(random.below(65'536));
                        const bool is_ordinary = random.below(rarity) != 0;
                        if (is_ordinary) half.bits &= 0xbfff;
                    }
                    wrong += wrong_widened(set, std::span<const Half>{halves}.subspan(start));
                }
            }
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("every half widens exactly in every lane, with any neighbours", "[kernels]") {
    constexpr std::size_t kAll = 65'536;
    for (const InstructionSet set : tests::every_width()) {
        INFO(name_of(set));
        // In order, so that whole groups have similar values, and shuffled, so that kinds mix.
        for (const std::size_t stride : {std::size_t{1}, std::size_t{40'503}}) {
            Halves all(kAll + kGroup);
            for (std::size_t i = 0; i < all.size(); ++i) {
                all[i].bits = static_cast<std::uint16_t>(i * stride);
            }
            std::size_t wrong = 0;
            for (std::size_t start = 0; start < kGroup; ++start) {
                wrong += wrong_widened(set, std::span<const Half>{all}.subspan(start, kAll));
            }
            CHECK(wrong == 0);
        }
    }
}
