// The sizes of the reduction tree, for host and device: see reduction.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dedloc::kernels {

/// Running sums within a segment.
inline constexpr std::size_t kLanes = 1024;
/// Elements of a segment.
inline constexpr std::size_t kSegmentElements = 65'536;
/// The limit of a tree with two levels; kernels refuse more (16 GiB of fp32).
inline constexpr std::uint64_t kMaxElements = std::uint64_t{kSegmentElements} * kSegmentElements;

/// Number of segments of a vector.
constexpr std::size_t segment_count(std::size_t elements) {
    return elements / kSegmentElements + (elements % kSegmentElements != 0 ? 1 : 0);
}

}  // namespace dedloc::kernels
