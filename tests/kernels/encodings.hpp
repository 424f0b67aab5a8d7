// Whole vectors through the lanes of fp16, bf16 and int8, on all threads of some workers. Values
// and owed errors are those of kernels/half_lanes.hpp with a scale of 1.
#pragma once

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/bfloat_lanes.hpp"
#include "kernels/half_lanes.hpp"
#include "kernels/int8_lanes.hpp"
#include "kernels/reduction.hpp"
#include "kernels/workers.hpp"

namespace dedloc::tests {

enum class Encoding { kHalf, kBfloat16, kInt8 };

/// What a receiver decodes: x[i] = values[i] + owed[i], or values[i] if `owed` is empty, encoded
/// and decoded. Every x must be finite.
inline std::vector<float> decoded(Encoding encoding, std::span<const float> values,
                                  std::span<const float> owed = {},
                                  const kernels::Workers& workers = kernels::ThisThread{}) {
    using namespace kernels;
    std::vector<float> out(values.size());
    std::atomic<std::uint32_t> bad = 0;
    for_each_segment(values.size(), workers, [&](std::size_t first, std::size_t count) {
        const InstructionSet set = workers.instruction_set();
        const float* const from = values.data() + first;
        const float* const debts = owed.empty() ? nullptr : owed.data() + first;
        float* const to = out.data() + first;
        if (encoding == Encoding::kHalf) {
            std::vector<Half> halves(count);
            bad += shorten_to_halves(set, {.values = from, .owed = debts}, halves.data(), count);
            widen_halves(set, halves.data(), 1, to, count);
        } else if (encoding == Encoding::kBfloat16) {
            std::vector<Bfloat16> bfloats(count);
            bad += debts == nullptr ? shorten_to_bfloats(set, from, bfloats.data(), count)
                                    : shorten_to_bfloats(set, from, debts, bfloats.data(), count);
            bad += widen_bfloats(set, bfloats.data(), to, count);
        } else {
            std::vector<std::int8_t> codes(count);
            std::vector<std::uint8_t> exponents(int8_block_count(count));
            bad += shorten_to_int8(set, {.values = from, .owed = debts}, codes.data(),
                                   exponents.data(), count);
            bad += widen_int8(set, codes.data(), exponents.data(), to, count);
        }
    });
    REQUIRE(bad == 0);
    return out;
}

/// The new rounding errors after `values` were sent with the errors `owed`. Every x must be finite.
inline std::vector<float> kept_errors(Encoding encoding, std::span<const float> values,
                                      std::span<const float> owed,
                                      const kernels::Workers& workers = kernels::ThisThread{}) {
    using namespace kernels;
    std::vector<float> error(owed.begin(), owed.end());
    std::atomic<std::uint32_t> bad = 0;
    for_each_segment(values.size(), workers, [&](std::size_t first, std::size_t count) {
        const InstructionSet set = workers.instruction_set();
        const float* const from = values.data() + first;
        float* const errors = error.data() + first;
        if (encoding == Encoding::kHalf) {
            bad += keep_half_errors(set, from, 1, errors, count);
        } else if (encoding == Encoding::kBfloat16) {
            bad += keep_bfloat_errors(set, from, errors, count);
        } else {
            bad += keep_int8_errors(set, from, kInt8MaxExponent, errors, count);
        }
    });
    REQUIRE(bad == 0);
    return error;
}

}  // namespace dedloc::tests
