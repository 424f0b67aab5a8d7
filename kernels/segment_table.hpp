// The tensors of a flat vector and their segments, so that one call updates all tensors. A segment
// is a row of work for one thread of a host or one block of a device, and the unit of the sums of
// reduction.hpp. A tensor's sums therefore have the same bits wherever it lies in the vector.
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
    std::uint64_t first = 0;   ///< its first element, counted in the flat vector
    std::uint32_t count = 0;   ///< its elements, at least 1
    std::uint32_t tensor = 0;  ///< index of its tensor
};

/// The segments of one tensor, which follow each other.
struct TensorSegments {
    std::uint64_t first = 0;  ///< index of its first segment
    std::uint64_t count = 0;  ///< 0 if the tensor has no elements
    bool decays = false;      ///< as in TensorPlace
    bool adapts = true;       ///< as in TensorPlace
};

/// All tensors of a vector and all their segments. Constant after construction, so one table serves
/// all updates; a copy of both arrays in device memory serves those of a device.
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
