// Σx² on a device, in the order of reduction.hpp: a block of 256 threads, with four lanes each,
// sums a segment; then one block sums the segments.
#pragma once

#include "kernels/cuda/body.hpp"

namespace dedloc::kernels::cuda {

/// sum + x², with one rounding: the square is exact, so a fused operation gives the same bits.
///
/// On devices where doubles are 32 or 64 times slower than floats, conversion, product and sum
/// would be the bottleneck of a norm. Here only the sum costs a double operation.
DEDLOC_HOST_DEVICE inline double add_square(double sum, float x) {
#if defined(__CUDA_ARCH__)
#if __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000
    const double wide = static_cast<double>(x);
#else
    const double wide = widened_magnitude(x);
#endif
    return __fma_rn(wide, wide, sum);
#else
    const double wide = widened_magnitude(x);
    return sum + wide * wide;
#endif
}

/// The lanes of one segment, for each sum.
template <unsigned kSums>
struct SharedLanes {
    double sums[kSums][kLanes];
};

/// Phases of the fold: s[i] += s[i + h] for h = 512, 256, … 1.
inline constexpr unsigned kFolds = 10;
static_assert(kLanes == 1u << kFolds);

/// Does step number `fold`, 1 to kFolds.
template <unsigned kSums>
DEDLOC_HOST_DEVICE inline void fold_once(SharedLanes<kSums>& lanes, unsigned thread,
                                         unsigned fold) {
    const unsigned half = static_cast<unsigned>(kLanes) >> fold;
    for (unsigned k = 0; k < kSums; ++k) {
        for (unsigned i = thread; i < half; i += kThreads) {
            lanes.sums[k][i] += lanes.sums[k][i + half];
        }
    }
}

/// Sums each segment in one block and writes sum k of segment s to sums[k × segments + s]. `Row` as
/// in walk; apply adds its squares to to[k][j], where j is the element's index in the pack.
template <class Row>
struct SegmentSums {
    static constexpr unsigned kPhases = 1 + kFolds;
    using Shared = SharedLanes<Row::kSums>;
    using Local = Nothing;

    Row row;
    std::size_t count;
    double* sums;

    std::size_t blocks() const { return segment_count(count); }

    DEDLOC_HOST_DEVICE void begin(std::size_t block, unsigned thread, Shared& shared,
                                  Local&) const {
        const std::size_t first = block * kSegmentElements;
        const std::size_t end = first + kSegmentElements < count ? first + kSegmentElements : count;
        double lanes[Row::kSums][kPackElements] = {};
        walk(row, first, end, thread, lanes);
        for (unsigned k = 0; k < Row::kSums; ++k) {
            for (unsigned j = 0; j < kPackElements; ++j) {
                shared.sums[k][kPackElements * thread + j] = lanes[k][j];
            }
        }
    }

    DEDLOC_HOST_DEVICE void resume(unsigned phase, std::size_t block, unsigned thread,
                                   Shared& shared, Local&) const {
        fold_once(shared, thread, phase);
        if (phase != kFolds || thread != 0) return;
        for (unsigned k = 0; k < Row::kSums; ++k) {
            sums[k * segment_count(count) + block] = shared.sums[k][0];
        }
    }
};

/// Adds up the sums of all segments by the same rule, in one block, whose thread 0 then calls
/// finish(totals) with kSums doubles.
template <unsigned kSums, class Finish>
struct TotalSums {
    static constexpr unsigned kPhases = 1 + kFolds;
    using Shared = SharedLanes<kSums>;
    using Local = Nothing;

    const double* sums;
    std::size_t segments;
    Finish finish;

    static std::size_t blocks() { return 1; }

    DEDLOC_HOST_DEVICE void begin(std::size_t, unsigned thread, Shared& shared, Local&) const {
        for (unsigned k = 0; k < kSums; ++k) {
            for (std::size_t lane = thread; lane < kLanes; lane += kThreads) {
                double sum = 0;
                for (std::size_t s = lane; s < segments; s += kLanes) {
                    sum += sums[k * segments + s];
                }
                shared.sums[k][lane] = sum;
            }
        }
    }

    DEDLOC_HOST_DEVICE void resume(unsigned phase, std::size_t, unsigned thread, Shared& shared,
                                   Local&) const {
        fold_once(shared, thread, phase);
        if (phase != kFolds || thread != 0) return;
        double totals[kSums];
        for (unsigned k = 0; k < kSums; ++k) totals[k] = shared.sums[k][0];
        finish(totals);
    }
};

/// Bytes of workspace for the segment sums of `count` elements.
template <unsigned kSums>
constexpr std::size_t sums_bytes(std::size_t count) {
    return kSums * segment_count(count) * sizeof(double);
}

}  // namespace dedloc::kernels::cuda
