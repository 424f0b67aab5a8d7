// Resizing with the antialiased bilinear filter of Pillow's Image.resize(), bit by bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "boinc_app/pictures/crop_parameters.hpp"
#include "boinc_app/pictures/picture.hpp"
#include "boinc_app/pictures/pixel_arithmetic.hpp"

namespace dedloc::pictures {

/// A square of a region that is resized. Other parts of the resized region are not computed.
struct Resampling {
    Region region{};          ///< part of the picture; pixels outside it have no influence
    Extent resized{};         ///< extent to which the region is resized
    std::uint32_t left = 0;   ///< the square's position in it
    std::uint32_t top = 0;    ///< likewise
    std::uint32_t size = 1;   ///< pixels of each side of the square
    bool is_flipped = false;  ///< the square's left and right change places
};

/// Resamples pictures; its buffers serve one picture after the other.
class Resampler {
  public:
    /// Writes the square. Each pixel is a mean of those whose distance from its centre is below one
    /// pixel of the larger of both resolutions, weighted by a triangle; weights have 22 bits.
    /// One pass resizes rows, one columns, and both round to 8 bits. The columns come first if the
    /// height loses more than twice as many pixels as the width, and at least one.
    ///
    /// Shapes    planes [3, size, size] bytes and kSlack more, whose values are arbitrary after it
    /// Requires  the region within the picture, the square within the resized region (DEDLOC_CHECK)
    /// Memory    for w × h pixels of the region that the square covers: 3 max(h, w) (size + 31) +
    ///           48 w + 16 (w + h) + 112 size bytes, kept for the next call
    /// Cost      224 from 500 × 375: tests/bench/RESULTS.md
    /// Source    Pillow's documentation and behaviour, version 13.0.0
    void run(const Picture& picture, const Resampling& resampling, std::span<std::uint8_t> planes);

    /// Bytes behind the planes that run() may overwrite.
    static constexpr std::size_t kSlack = 32;

  private:
    struct Axis {
        std::uint32_t begin = 0;   // pixels of the region that have a weight
        std::uint32_t end = 0;     // one past the last
        std::size_t stride = 0;    // weights from one pixel to the next
        std::vector<Taps> taps{};  // for each pixel of the square, relative to begin
        std::vector<std::int32_t> weights{};
        std::vector<double> exact{};  // weights of one pixel before rounding

        void compute(std::uint32_t length, std::uint32_t resized, std::uint32_t first,
                     std::uint32_t count);
    };

    struct Rows {
        const std::uint8_t* first;  // three bytes a pixel
        std::size_t row_bytes;      // distance of two rows
        std::size_t height;
    };

    void rows_first(const Rows& rows, std::size_t size, bool is_flipped, std::uint8_t* planes);
    void columns_first(const Rows& rows, std::size_t size, bool is_flipped, std::uint8_t* planes);
    void resize_rows(const Rows& source, std::size_t size, bool is_flipped, std::uint8_t* to,
                     std::size_t row_bytes);

    Axis across_;
    Axis down_;
    std::vector<std::uint8_t> tile_;          // [w, 3, 16]
    std::vector<std::uint8_t> resized_tile_;  // [size, 3, 16]
    std::vector<std::uint8_t> between_;       // [3, h, size rounded up], or [size, w, 3]
};

}  // namespace dedloc::pictures
