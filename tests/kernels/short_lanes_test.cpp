// The loops of bfloat16 and int8: sums of encoded values, values with an error that stays as it is,
// errors alone, bounded scales. The bits are those of the slow reference at any length and address.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/bfloat_lanes.hpp"
#include "kernels/int8_lanes.hpp"
#include "tests/kernels/every_worker.hpp"
#include "tests/kernels/inputs.hpp"
#include "tests/kernels/slow_codec.hpp"

using namespace dedloc;
using namespace dedloc::kernels;

namespace {

using Floats = std::vector<float>;

constexpr float kGuard = 1234.5F;
constexpr std::size_t kLengths[]{0, 1, 3, 15, 17, 63, 64, 65, 127, 129, 200};

/// a + sign × b, rounded once.
Floats sums_of(std::span<const float> a, std::span<const float> b, float sign = 1) {
    Floats sums(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        const volatile float term = sign * b[i];
        const volatile float sum = a[i] + term;
        sums[i] = sum;
    }
    return sums;
}

std::size_t wrong_bits(std::span<const float> found, const Floats& expected) {
    std::size_t wrong = found.size() == expected.size() ? 0 : 1;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        wrong += tests::same_bits(found[i], expected[i]) ? 0u : 1u;
    }
    return wrong;
}

/// Calls write(out) on memory with a guard at both ends that holds `before`. Returns how many of
/// the results are wrong.
template <class Write>
std::size_t wrong_after(const Floats& before, const Floats& expected, const Write& write) {
    Floats out(before.size() + 2, kGuard);
    std::ranges::copy(before, out.begin() + 1);
    write(out.data() + 1);
    const std::size_t wrong = wrong_bits(std::span{out}.subspan(1, before.size()), expected);
    return wrong + (out.front() == kGuard && out.back() == kGuard ? 0u : 1u);
}

// --- bfloat16 ----------------------------------------------------------------

std::vector<Bfloat16> bfloats_of(const Floats& values) {
    std::vector<Bfloat16> bfloats;
    for (const float x : values) bfloats.push_back({tests::slow::bfloat16_bits(x)});
    return bfloats;
}
Floats values_of(const std::vector<Bfloat16>& bfloats) {
    Floats values;
    for (const Bfloat16 b : bfloats) {
        values.push_back(static_cast<float>(tests::slow::bfloat16_value(b.bits)));
    }
    return values;
}

std::size_t wrong_bfloats(InstructionSet set, const Floats& values, const Floats& owed) {
    const std::size_t count = values.size();
    const Floats zeros(count);
    const Floats x = sums_of(values, owed);
    const auto encoded = bfloats_of(x);
    const Floats rounded = values_of(encoded);
    std::vector<Bfloat16> out(count);
    std::size_t wrong =
        shorten_to_bfloats(set, values.data(), owed.data(), out.data(), count) == 0 ? 0 : 1;
    wrong += out == encoded ? 0u : 1u;
    wrong += shorten_to_bfloats(set, values.data(), nullptr, out.data(), count) == 0 ? 0u : 1u;
    wrong += out == bfloats_of(sums_of(values, zeros)) ? 0u : 1u;
    wrong += wrong_after(owed, sums_of(x, rounded, -1), [&](float* error) {
        (void)keep_bfloat_errors(set, values.data(), error, count);
    });
    wrong += wrong_after(values, sums_of(values, rounded),
                         [&](float* sum) { add_bfloats(set, encoded.data(), sum, count); });
    return wrong + wrong_after(zeros, rounded, [&](float* widened) {
               (void)widen_bfloats(set, encoded.data(), widened, count);
           });
}

// --- int8 --------------------------------------------------------------------

/// The slow reference with a bound of the exponents, in one block after the other.
tests::slow::Int8 bounded(const Floats& x, std::uint32_t max_exponent) {
    tests::slow::Int8 coded = tests::slow::to_int8(x);
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (coded.exponents[i / 64] <= max_exponent) continue;
        const double scale = std::ldexp(1.0, static_cast<int>(max_exponent) - 127);
        const double code = std::nearbyint(double{x[i]} / scale);
        coded.codes[i] = static_cast<std::int8_t>(std::clamp(code, -127.0, 127.0));
    }
    for (std::uint8_t& e : coded.exponents) {
        e = static_cast<std::uint8_t>(std::min<std::uint32_t>(e, max_exponent));
    }
    return coded;
}

std::size_t wrong_blocks(InstructionSet set, const Floats& values, const Floats& owed,
                         std::uint32_t max_exponent) {
    const std::size_t count = values.size();
    const Floats x = sums_of(values, owed);
    const tests::slow::Int8 coded = bounded(x, max_exponent);
    const Floats rounded = tests::slow::from_int8(coded);
    const Unquantized both{
        .values = values.data(), .owed = owed.data(), .max_exponent = max_exponent};
    tests::slow::Int8 out{.codes = std::vector<std::int8_t>(count),
                          .exponents = std::vector<std::uint8_t>(coded.exponents.size())};
    std::size_t wrong =
        shorten_to_int8(set, both, out.codes.data(), out.exponents.data(), count) == 0 ? 0 : 1;
    wrong += out == coded ? 0u : 1u;
    const Unquantized alone{.values = values.data(), .max_exponent = max_exponent};
    (void)shorten_to_int8(set, alone, out.codes.data(), out.exponents.data(), count);
    wrong += out == bounded(values, max_exponent) ? 0u : 1u;
    wrong += wrong_after(owed, sums_of(x, rounded, -1), [&](float* error) {
        (void)keep_int8_errors(set, values.data(), max_exponent, error, count);
    });
    wrong += wrong_after(values, sums_of(values, rounded), [&](float* sum) {
        add_int8(set, coded.codes.data(), coded.exponents.data(), sum, count);
    });
    float largest = 0;
    for (const float each : x) largest = std::max(largest, std::fabs(each));
    wrong += largest_magnitude(set, values.data(), owed.data(), count) ==
                     std::bit_cast<std::uint32_t>(largest)
                 ? 0u
                 : 1u;
    return wrong + wrong_after(Floats(count), rounded, [&](float* widened) {
               (void)widen_int8(set, coded.codes.data(), coded.exponents.data(), widened, count);
           });
}

}  // namespace

TEST_CASE("bfloats and int8 blocks have the bits of the formula at any length and address",
          "[kernels]") {
    for (const InstructionSet set : tests::every_width()) {
        INFO(name_of(set));
        std::size_t wrong = 0;
        Random random{5};
        for (const std::size_t count : kLengths) {
            for (std::size_t turn = 0; turn < 20; ++turn) {
                const double huge = turn % 2 == 0 ? 2e38 : 1.0;
                const Floats values = tests::adversarial(Random{random.next()}, count + turn, huge);
                const Floats errors =
                    tests::adversarial(Random{random.next()}, count + turn, huge / 100);
                const Floats here(values.begin() + static_cast<std::ptrdiff_t>(turn), values.end());
                const Floats owed(errors.begin() + static_cast<std::ptrdiff_t>(turn), errors.end());
                wrong += wrong_bfloats(set, here, owed);
                for (const std::uint32_t bound : {kInt8MaxExponent, 238u, kInt8MinBound}) {
                    wrong += wrong_blocks(set, here, owed, bound);
                }
            }
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("values that are not finite are counted in any lane of bfloats and int8 blocks",
          "[kernels]") {
    constexpr std::size_t kCount = 100;
    for (const InstructionSet set : tests::every_width()) {
        INFO(name_of(set));
        std::size_t wrong = 0;
        for (std::size_t lane = 0; lane < kCount; ++lane) {
            for (const float bad : {INFINITY, -INFINITY, NAN}) {
                Floats values(kCount, 1.0F);
                values[lane] = bad;
                Floats error(kCount, 0.5F);
                std::vector<Bfloat16> bfloats(kCount);
                wrong += shorten_to_bfloats(set, values.data(), error.data(), bfloats.data(),
                                            kCount) == 1
                             ? 0u
                             : 1u;
                wrong += largest_magnitude(set, values.data(), error.data(), kCount) >= 0x7f800000u
                             ? 0u
                             : 1u;
                Floats kept = error;
                wrong +=
                    keep_int8_errors(set, values.data(), kInt8MaxExponent, kept.data(), kCount) == 1
                        ? 0u
                        : 1u;
                wrong +=
                    keep_bfloat_errors(set, values.data(), error.data(), kCount) == 1 ? 0u : 1u;
            }
        }
        CHECK(wrong == 0);
    }
}
