// The one order in which this project adds up a long row of numbers, whatever the number of
// threads, the width of the vector unit or the device:
//
//   The row is cut into segments of 65,536 elements. In a segment, lane j of 1,024 adds elements j,
//   j+1024, … in order; then the lanes are folded in halves: s[i] += s[i+h] for h = 512, 256, … 1.
//   The segment sums form a row of their own, summed by the same rule. Missing elements count as
//   +0, which changes no sum of squares and therefore costs nothing.
//
// Sums are doubles. Wide lanes let a compiler vectorise for any width; the fold is what a warp
// shuffle computes too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dedloc::kernels {

inline constexpr std::size_t kLanes = 1024;
inline constexpr std::size_t kSegmentElements = 65'536;
/// Two levels of the rule reach this far; kernels refuse more (16 GiB of fp32).
inline constexpr std::uint64_t kMostElements = std::uint64_t{kSegmentElements} * kSegmentElements;

/// One running sum by the rule above. The caller adds up to 1,024 terms at a time into `lanes()`
/// and says when 65,536 elements are through. Terms must not be −0 or negative, else the missing
/// elements would count.
class TreeSum {
  public:
    double* lanes() { return lanes_.data(); }
    /// Folds the lanes into the next segment sum and clears them.
    void end_segment();
    /// The sum of all ended segments. Ends the object's use.
    double total();

  private:
    alignas(64) std::array<double, kLanes> lanes_{};
    alignas(64) std::array<double, kLanes> segments_{};
    std::size_t segment_ = 0;
};

/// Calls row(first, count) for every stretch of up to 1,024 elements in order, and end_segment()
/// after each segment.
template <class Row, class EndSegment>
void for_each_row(std::size_t elements, const Row& row, const EndSegment& end_segment) {
    for (std::size_t first = 0; first < elements; first += kLanes) {
        const std::size_t left = elements - first;
        row(first, left < kLanes ? left : kLanes);
        if ((first + kLanes) % kSegmentElements == 0 || left <= kLanes) end_segment();
    }
}

}  // namespace dedloc::kernels
