// Transposition of blocks of bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dedloc::pictures {

/// Rows and columns of a block.
inline constexpr std::size_t kTransposed = 16;

/// Sixteen bytes in a register of a vector unit.
using SixteenBytes [[gnu::vector_size(16)]] = std::uint8_t;

/// Byte j of row i of `to` becomes byte i of row j of `from`, for 16 rows of 16 bytes. Strides are
/// in bytes, from a row to the next. Cost: 64 instructions with SSE2.
inline void transpose_block(const std::uint8_t* from, std::ptrdiff_t from_stride, std::uint8_t* to,
                            std::ptrdiff_t to_stride) {
    std::array<SixteenBytes, kTransposed> rows;
    for (SixteenBytes& row : rows) {
        std::memcpy(&row, from, sizeof row);
        from += from_stride;
    }
    // Each round interleaves the bytes of the upper half of the rows with those of the lower half.
    for (int round = 0; round < 4; ++round) {
        std::array<SixteenBytes, kTransposed> next;
        for (std::size_t i = 0; i < kTransposed / 2; ++i) {
            const SixteenBytes a = rows[i];
            const SixteenBytes b = rows[i + kTransposed / 2];
            next[2 * i] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6,
                                                  22, 7, 23);
            next[2 * i + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28,
                                                      13, 29, 14, 30, 15, 31);
        }
        rows = next;
    }
    for (const SixteenBytes& row : rows) {
        std::memcpy(to, &row, sizeof row);
        to += to_stride;
    }
}

/// The same for any number of rows and columns. `from` has `rows` rows of `columns` bytes.
inline void transpose(const std::uint8_t* from, std::ptrdiff_t from_stride, std::uint8_t* to,
                      std::ptrdiff_t to_stride, std::size_t rows, std::size_t columns) {
    const auto at = [](auto* bytes, std::size_t row, std::ptrdiff_t stride, std::size_t column) {
        return bytes + static_cast<std::ptrdiff_t>(row) * stride + column;
    };
    const std::size_t whole_rows = rows / kTransposed * kTransposed;
    const std::size_t whole_columns = columns / kTransposed * kTransposed;
    for (std::size_t y = 0; y < whole_rows; y += kTransposed) {
        for (std::size_t x = 0; x < whole_columns; x += kTransposed) {
            transpose_block(at(from, y, from_stride, x), from_stride, at(to, x, to_stride, y),
                            to_stride);
        }
    }
    for (std::size_t y = 0; y < rows; ++y) {
        for (std::size_t x = y < whole_rows ? whole_columns : 0; x < columns; ++x) {
            *at(to, x, to_stride, y) = *at(from, y, from_stride, x);
        }
    }
}

}  // namespace dedloc::pictures
