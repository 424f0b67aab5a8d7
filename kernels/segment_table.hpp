// Divides the tensors of a flat vector into segments, so that one call of an optimizer updates them
// all. A segment lies within one tensor. It is what one host thread or one block of a device works
// on at a time, and the unit of the sums of reduction.hpp. Segments are counted from the beginning
// of their tensor, so a tensor's sums have the same bits at any place in the vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/lanes.hpp"

namespace dedloc::kernels {

/// The place of one tensor in a flat vector, and how an optimizer treats it.
struct TensorPlace {
    std::uint64_t offset = 0;  ///< first element
    std::uint64_t count = 0;   ///< number of elements, at most 2³²
    bool decays = false;       ///< weight decay applies
    bool adapts = true;        ///< LAMB's trust ratio or LARC's rate scales its step
};

/// At most 65,536 neighbouring elements of one tensor.
struct TensorSegment {
    std::uint64_t first = 0;   ///< index of its first element in the flat vector
    std::uint32_t count = 0;   ///< number of its elements, at least 1
    std::uint32_t tensor = 0;  ///< index of its tensor
};

/// The segments of one tensor, which are neighbours in SegmentTable::segments().
struct TensorSegments {
    std::uint64_t first = 0;  ///< index of its first segment
    std::uint64_t count = 0;  ///< 0 if the tensor has no elements
    bool decays = false;      ///< as in TensorPlace
    bool adapts = true;       ///< as in TensorPlace
};

/// The tensors of a vector and their segments. Constant after construction, so one table serves all
/// updates. Kernels of a device read a copy of both arrays in its memory (cuda/device_table.hpp).
///
/// Requires  tensors in ascending order that do not overlap, each at most 2³² elements (aborts).
///           Gaps between them are allowed: an update neither reads nor writes them
/// Memory    24 bytes a tensor, 16 bytes a segment
class SegmentTable {
  public:
    explicit SegmentTable(std::span<const TensorPlace> tensors);

    /// One entry for each tensor, in their order.
    std::span<const TensorSegments> tensors() const { return tensors_; }
    /// The segments of the first tensor, then those of the second, and so on.
    std::span<const TensorSegment> segments() const { return segments_; }
    /// End of the last tensor: the length that a vector must have at least.
    std::uint64_t end() const { return end_; }

  private:
    std::vector<TensorSegments> tensors_;
    std::vector<TensorSegment> segments_;
    std::uint64_t end_ = 0;
};

}  // namespace dedloc::kernels
