// The work of one thread in the kernels of weighted_mean.cu.
#pragma once

#include "kernels/cuda/body.hpp"

namespace dedloc::kernels::cuda {

/// Senders that one launch adds at most: their addresses are arguments of the launch.
inline constexpr unsigned kLaunchParts = 64;

/// out = out (unless is_first) + the parts in their order, ÷ samples if is_last.
template <bool kIsAligned>
struct MeanBody {
    static constexpr unsigned kPhases = 1;
    /// Packs that a thread loads together.
    static constexpr unsigned kAhead = 8;
    using Shared = Nothing;
    using Local = Nothing;

    const float* parts[kLaunchParts];  ///< the senders' parts, N elements each
    unsigned part_count;               ///< how many of them are set
    bool is_first;                     ///< this launch begins the sum
    bool is_last;                      ///< this launch divides the sum
    float samples;                     ///< the divisor
    float* out;                        ///< running sum, then the mean
    std::size_t count;                 ///< N

    std::size_t blocks() const { return (count + kLanes - 1) / kLanes; }

    /// Averages one pack.
    DEDLOC_HOST_DEVICE void begin(std::size_t block, unsigned thread, Shared&, Local&) const {
        const std::size_t i = block * kLanes + kPackElements * thread;
        if (i >= count) return;
        const std::size_t left = count - i;
        if (left >= kPackElements) {
            mean_of(i, Whole{});
        } else {
            mean_of(i, static_cast<Part>(left));
        }
    }
    DEDLOC_HOST_DEVICE void resume(unsigned, std::size_t, unsigned, Shared&, Local&) const {}

  private:
    template <class Count>
    DEDLOC_HOST_DEVICE void mean_of(std::size_t i, Count here) const {
        Pack<float> sum{};
        if (!is_first) sum = read_pack<kIsAligned>(out + i, here);
        for (unsigned k = 0; k < part_count; k += kAhead) {
            Pack<float> next[kAhead];
            for (unsigned a = 0; a < kAhead; ++a) {
                if (k + a < part_count) next[a] = read_pack<kIsAligned>(parts[k + a] + i, here);
            }
            for (unsigned a = 0; a < kAhead; ++a) {
                if (k + a >= part_count) break;
                // The sum begins with the first part and not with 0, which would lose a −0.
                const bool is_sum = is_first && k + a == 0;
                for (unsigned j = 0; j < kPackElements; ++j) {
                    sum.v[j] = is_sum ? next[a].v[j] : sum.v[j] + next[a].v[j];
                }
            }
        }
        if (is_last) {
            for (unsigned j = 0; j < kPackElements; ++j) sum.v[j] = sum.v[j] / samples;
        }
        write_pack<kIsAligned>(out + i, sum, here);
    }
};

}  // namespace dedloc::kernels::cuda
