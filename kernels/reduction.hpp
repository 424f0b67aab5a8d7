// The one order in which this project adds up a long row of numbers, whatever the number of
// threads, the width of the vector unit or the device:
//
//   The row is cut into segments of 65,536 elements. In a segment, lane j of 1,024 adds elements j,
//   j+1024, … in order; then the lanes are folded in halves: s[i] += s[i+h] for h = 512, 256, … 1.
//   The segment sums form a row of their own, summed by the same rule. Missing elements count as
//   +0, which changes no sum of squares and therefore costs nothing.
//
// Sums are doubles. Wide lanes let a compiler vectorise for any width; the fold is what a warp
// shuffle computes too. A segment is also what one thread takes at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "kernels/exact_arithmetic.hpp"
#include "kernels/lanes.hpp"
#include "kernels/workers.hpp"

namespace dedloc::kernels {

struct alignas(64) Lanes {
    std::array<double, kLanes> sums{};
};

/// The lanes' sum by halves. Leaves the lanes changed.
double fold(Lanes& lanes);

/// Calls work(first, count) for every segment, spread over the workers, in exact arithmetic.
template <class Work>
void for_each_segment(std::size_t elements, const Workers& workers, const Work& work) {
    workers.run(segment_count(elements), [&](std::size_t segment) {
        const ExactArithmetic exact;
        const std::size_t first = segment * kSegmentElements;
        work(first, std::min(kSegmentElements, elements - first));
    });
}

/// Several sums at once by the rule above. Calls row(first, count, lanes) for every stretch of up
/// to 1,024 elements, in order within a segment; it adds its terms into lanes[k].sums[0 … count−1].
/// Terms must not be −0 or negative, else the missing elements would count.
///
/// Memory    16 KiB a sum and 8 KiB a sum and thread, on the stack
template <std::size_t kSums, class Row>
std::array<double, kSums> tree_sums(std::size_t elements, const Workers& workers, const Row& row) {
    const ExactArithmetic exact;
    std::array<Lanes, kSums> totals;
    std::array<Lanes, kSums> wave;  // the sums of 1,024 segments: one for each lane of the totals
    constexpr std::size_t kWaveElements = kLanes * kSegmentElements;
    for (std::size_t begin = 0; begin < elements; begin += kWaveElements) {
        const std::size_t here = std::min(kWaveElements, elements - begin);
        workers.run(segment_count(here), [&](std::size_t segment) {
            const ExactArithmetic exact_here;
            std::array<Lanes, kSums> lanes;
            const std::size_t end = std::min(here, (segment + 1) * kSegmentElements);
            for (std::size_t i = segment * kSegmentElements; i < end; i += kLanes) {
                row(begin + i, std::min(kLanes, end - i), lanes);
            }
            for (std::size_t k = 0; k < kSums; ++k) wave[k].sums[segment] = fold(lanes[k]);
        });
        for (std::size_t k = 0; k < kSums; ++k) {
            for (std::size_t s = 0; s < segment_count(here); ++s) {
                totals[k].sums[s] += wave[k].sums[s];
            }
        }
    }
    std::array<double, kSums> result;
    for (std::size_t k = 0; k < kSums; ++k) result[k] = fold(totals[k]);
    return result;
}

}  // namespace dedloc::kernels
