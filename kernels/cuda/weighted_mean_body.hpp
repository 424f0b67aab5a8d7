// The work of a thread in weighted_mean.cu.
#pragma once

#include "kernels/cuda/body.hpp"

namespace dedloc::kernels::cuda {

/// As many senders as one launch adds: their addresses travel as its arguments.
inline constexpr unsigned kLaunchParts = 64;

/// out = (what out has, or nothing if is_first) + the parts in their order; ÷ samples if is_last.
template <bool kIsAligned>
struct MeanBody {
    static constexpr unsigned kPhases = 1;
    /// Packs of a thread that are on their way at once.
    static constexpr unsigned kAhead = 8;
    using Shared = Nothing;
    using Local = Nothing;

    const float* parts[kLaunchParts];
    unsigned part_count;
    bool is_first;
    bool is_last;
    float samples;
    float* out;
    std::size_t count;

    std::size_t blocks() const { return (count + kLanes - 1) / kLanes; }

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
                // The first part is the sum, not added to 0: that would lose a −0.
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
