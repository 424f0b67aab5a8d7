// The fixed order in which this project adds up many numbers. It does not depend on the number of
// threads, the instruction set or the device:
//
//   The vector is divided into segments of 65,536 elements. In a segment, lane j of 1,024 adds
//   elements j, j+1024, … in order; then the lanes are folded in halves: s[i] += s[i+h] for
//   h = 512, 256, … 1. The segment sums are added up by the same rule. Missing elements count as
//   +0, which changes no sum of squares, so they are skipped.
//
// Sums are doubles. With this many lanes a compiler can vectorise for any width; a warp shuffle
// computes the same fold. A segment is also the unit of work of a thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "kernels/exact_arithmetic.hpp"
#include "kernels/lanes.hpp"
#include "kernels/segment_table.hpp"
#include "kernels/workers.hpp"

namespace dedloc::kernels {

/// The running sums of one segment.
struct alignas(64) Lanes {
    std::array<double, kLanes> sums{};  ///< one for each lane
};

/// The sum of the lanes, folded in halves. Overwrites the lanes.
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

/// Computes several sums at once by the rule above. Calls row(first, count, lanes) for every row of
/// up to 1,024 elements, in order within a segment; `row` adds its terms to lanes[k].sums[0 …
/// count−1]. Terms must not be −0 or negative, else skipping missing elements would change the sum.
///
/// Memory    on the stack: 16 KiB for each sum, and 8 KiB for each sum and thread
template <std::size_t kSums, class Row>
std::array<double, kSums> tree_sums(std::size_t elements, const Workers& workers, const Row& row) {
    const ExactArithmetic exact;
    std::array<Lanes, kSums> totals;
    std::array<Lanes, kSums> wave;  // sums of 1,024 segments, one for each lane of the totals
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

/// Calls work(segment) for every segment of a table, spread over the workers, in exact arithmetic.
template <class Work>
void for_each_segment(const SegmentTable& table, const Workers& workers, const Work& work) {
    workers.run(table.segments().size(), [&](std::size_t i) {
        const ExactArithmetic exact;
        work(table.segments()[i]);
    });
}

/// Computes several sums of every tensor of a table at once by the rule above; the work is divided
/// by the segments of all tensors. Calls row(segment, first, count, lanes) as tree_sums does, with
/// `first` counted in the flat vector.
///
/// Returns   the sums of each tensor; 0 for a tensor without elements
/// Memory    as for tree_sums, and 8 bytes for each sum and segment
template <std::size_t kSums, class Row>
std::vector<std::array<double, kSums>> tensor_sums(const SegmentTable& table,
                                                   const Workers& workers, const Row& row) {
    std::vector<std::array<double, kSums>> of_segments(table.segments().size());
    workers.run(of_segments.size(), [&](std::size_t i) {
        const ExactArithmetic exact;
        const TensorSegment& segment = table.segments()[i];
        std::array<Lanes, kSums> lanes;
        for (std::size_t at = 0; at < segment.count; at += kLanes) {
            row(segment, segment.first + at, std::min(kLanes, segment.count - at), lanes);
        }
        for (std::size_t k = 0; k < kSums; ++k) of_segments[i][k] = fold(lanes[k]);
    });
    std::vector<std::array<double, kSums>> of_tensors;
    of_tensors.reserve(table.tensors().size());
    const ExactArithmetic exact;
    for (const TensorSegments& tensor : table.tensors()) {
        std::array<Lanes, kSums> totals;
        for (std::size_t s = 0; s < tensor.count; ++s) {
            for (std::size_t k = 0; k < kSums; ++k) {
                totals[k].sums[s % kLanes] += of_segments[tensor.first + s][k];
            }
        }
        std::array<double, kSums>& sums = of_tensors.emplace_back();
        for (std::size_t k = 0; k < kSums; ++k) sums[k] = fold(totals[k]);
    }
    return of_tensors;
}

}  // namespace dedloc::kernels
