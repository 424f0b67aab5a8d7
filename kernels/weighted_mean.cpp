#include "kernels/weighted_mean.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/check.hpp"
#include "kernels/exact_arithmetic.hpp"

namespace dedloc::kernels {
namespace {

/// 16 KiB of running sums stay in the first-level cache while the senders are added.
constexpr std::size_t kBlock = 4096;

void add_block(float* __restrict sum, const float* __restrict part, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) sum[i] += part[i];
}

/// Four senders in one pass, still in their order: fewer trips to the running sums.
void add_four_blocks(float* __restrict sum, const float* __restrict a, const float* __restrict b,
                     const float* __restrict c, const float* __restrict d, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) sum[i] = (((sum[i] + a[i]) + b[i]) + c[i]) + d[i];
}

void divide_block(float* sum, std::size_t count, float samples) {
    for (std::size_t i = 0; i < count; ++i) sum[i] /= samples;
}

std::uint64_t checked_total(std::span<const std::span<const float>> parts,
                            std::span<const std::uint64_t> weights, std::span<float> out) {
    DEDLOC_KERNEL_REQUIRE(!parts.empty(), "a mean needs at least one part");
    DEDLOC_KERNEL_REQUIRE(parts.size() == weights.size(), "every part needs its weight",
                          static_cast<double>(parts.size()), static_cast<double>(weights.size()));
    std::uint64_t total = 0;
    for (std::size_t k = 0; k < parts.size(); ++k) {
        DEDLOC_KERNEL_REQUIRE(parts[k].size() == out.size(),
                              "a part has another length than the mean", static_cast<double>(k),
                              static_cast<double>(parts[k].size()),
                              static_cast<double>(out.size()));
        DEDLOC_KERNEL_REQUIRE(!overlap(parts[k], out), "the mean overlaps a part",
                              static_cast<double>(k));
        DEDLOC_KERNEL_REQUIRE(weights[k] <= UINT64_MAX - total, "the weights overflow",
                              static_cast<double>(k));
        total += weights[k];
    }
    DEDLOC_KERNEL_REQUIRE(total > 0, "the weights of a mean add up to zero");
    return total;
}

}  // namespace

void weighted_mean(std::span<const std::span<const float>> parts,
                   std::span<const std::uint64_t> weights, std::span<float> out) {
    const std::uint64_t total = checked_total(parts, weights, out);
    const ExactArithmetic exact;
    const auto samples = static_cast<float>(total);
    for (std::size_t first = 0; first < out.size(); first += kBlock) {
        const std::size_t count = std::min(kBlock, out.size() - first);
        float* const sum = out.data() + first;
        std::copy_n(parts[0].data() + first, count, sum);
        std::size_t k = 1;
        for (; k + 4 <= parts.size(); k += 4) {
            add_four_blocks(sum, parts[k].data() + first, parts[k + 1].data() + first,
                            parts[k + 2].data() + first, parts[k + 3].data() + first, count);
        }
        for (; k < parts.size(); ++k) add_block(sum, parts[k].data() + first, count);
        divide_block(sum, count, samples);
    }
}

}  // namespace dedloc::kernels
