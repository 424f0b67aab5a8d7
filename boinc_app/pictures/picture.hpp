// A picture in memory.
#pragma once

#include <cstdint>
#include <vector>

namespace dedloc::pictures {

/// Pixels from left to right, rows from top to bottom, three bytes each: red, green, blue in sRGB.
struct Picture {
    std::uint32_t width = 0;          ///< pixels of a row, at least 1
    std::uint32_t height = 0;         ///< rows, at least 1
    std::vector<std::uint8_t> rgb{};  ///< 3 × width × height bytes
};

}  // namespace dedloc::pictures
