// The Gaussian blur of Pillow's ImageFilter.GaussianBlur(), bit by bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "boinc_app/pictures/pixel_arithmetic.hpp"

namespace dedloc::pictures {

/// The box of which three have the variance `radius`². Requires 0 ≤ radius ≤ 10⁶ (DEDLOC_CHECK).
Box box_of(double radius);

/// Blurs square planes; its buffers serve one after the other.
class GaussianBlur {
  public:
    /// Blurs one channel of a crop in place: three extended box blurs in each direction, first
    /// along rows, whose variances add up to `radius`². Values are rounded to 8 bits after each,
    /// and pixels beyond an edge equal those at the edge.
    ///
    /// Shapes    plane [size, size]
    /// Requires  size ≥ 1, 0 ≤ radius ≤ 10⁶ (DEDLOC_CHECK)
    /// Memory    size² + 4 size bytes, kept for the next call
    /// Cost      independent of the radius: tests/bench/RESULTS.md
    /// Source    Gwosdek, Grewenig, Bruhn, Weickert, "Theoretical foundations of Gaussian
    ///           convolution by extended box filtering", SSVM 2011; roundings as in Pillow 13.0.0
    void run(std::span<std::uint8_t> plane, std::size_t size, double radius);

  private:
    std::vector<std::uint8_t> spare_;  // [size, size]
    std::vector<std::uint32_t> sums_;  // [size]
};

}  // namespace dedloc::pictures
