// Work on columns: GELU with a bias, its gradient, and sums of columns. A thread has eight columns
// and goes down the rows of its block.
#pragma once

#include "boinc_app/cuda/short_value.hpp"
#include "boinc_app/training/layer_arithmetic.hpp"

namespace dedloc::training {

/// How a matrix is divided among threads and blocks.
struct ColumnLayout {
    std::size_t rows = 0;        ///< those of the matrix
    std::size_t columns = 0;     ///< a multiple of 8
    std::size_t block_rows = 0;  ///< rows of a block
    unsigned block_threads = 0;  ///< that lie side by side in a block, at most kThreads
    std::size_t across = 0;      ///< blocks that lie side by side

    /// Rows that a block works on at once.
    DEDLOC_HOST_DEVICE unsigned side_by_side() const {
        return kernels::cuda::kThreads / block_threads;
    }
    DEDLOC_HOST_DEVICE std::size_t down() const { return (rows + block_rows - 1) / block_rows; }
};

/// What is done with an element.
enum class ColumnWork : std::uint8_t {
    kGelu,          ///< out = gelu(value + bias)
    kGeluGradient,  ///< out = by × slope of gelu(value + bias); out is summed
    kSum,           ///< the value is summed
};

/// The sums of a column over the rows of one thread go to the workspace as [thread rows, columns].
template <class T, ColumnWork kWork>
struct ColumnWalk {
    static constexpr unsigned kPhases = 1;
    static constexpr bool kSums = kWork != ColumnWork::kGelu;
    static constexpr bool kWrites = kWork != ColumnWork::kSum;
    static constexpr unsigned kAhead = 2;  ///< rows that are read before any is written
    using Shared = kernels::cuda::Nothing;
    using Local = kernels::cuda::Nothing;

    ColumnLayout layout;  ///< its division among threads and blocks
    const T* values;      ///< [rows, columns]
    const float* bias;    ///< null for kSum
    const T* by;          ///< null unless kGeluGradient
    T* out;               ///< null for kSum
    float* sums;          ///< null for kGelu

    /// The functions of a body (kernels/cuda/body.hpp).
    DEDLOC_HOST_DEVICE std::size_t blocks() const { return layout.across * layout.down(); }
    DEDLOC_HOST_DEVICE void begin(std::size_t block, unsigned thread, Shared&, Local&) const {
        const std::size_t beside = block % layout.across;
        const std::size_t below = block / layout.across;
        const unsigned lane = thread / layout.block_threads;
        const std::size_t column =
            kEight * (beside * layout.block_threads + thread % layout.block_threads);
        if (column >= layout.columns || lane >= layout.side_by_side()) return;
        float shift[kEight] = {};
        if constexpr (kWrites) {
            for (unsigned j = 0; j < kEight; ++j) shift[j] = bias[column + j];
        }
        float sum[kEight] = {};
        const std::size_t first = below * layout.block_rows;
        const std::size_t end =
            first + layout.block_rows < layout.rows ? first + layout.block_rows : layout.rows;
        const std::size_t step = layout.side_by_side();
        std::size_t row = first + lane;
        for (; row + (kAhead - 1) * step < end; row += kAhead * step) {
            Eight<T> value[kAhead];
            Eight<T> gradient[kAhead];
            for (unsigned a = 0; a < kAhead; ++a) {
                const std::size_t at = (row + a * step) * layout.columns + column;
                value[a] = read_eight(values + at);
                if constexpr (kWork == ColumnWork::kGeluGradient) gradient[a] = read_eight(by + at);
            }
            for (unsigned a = 0; a < kAhead; ++a) {
                apply((row + a * step) * layout.columns + column, value[a], gradient[a], shift,
                      sum);
            }
        }
        for (; row < end; row += step) {
            const std::size_t at = row * layout.columns + column;
            Eight<T> gradient{};
            if constexpr (kWork == ColumnWork::kGeluGradient) gradient = read_eight(by + at);
            apply(at, read_eight(values + at), gradient, shift, sum);
        }
        if constexpr (kSums) {
            const std::size_t place = below * layout.side_by_side() + lane;
            for (unsigned j = 0; j < kEight; ++j) {
                sums[place * layout.columns + column + j] = sum[j];
            }
        }
    }
    DEDLOC_HOST_DEVICE void resume(unsigned, std::size_t, unsigned, Shared&, Local&) const {}

  private:
    DEDLOC_HOST_DEVICE void apply(std::size_t at, const Eight<T>& value, const Eight<T>& gradient,
                                  const float (&shift)[kEight], float (&sum)[kEight]) const {
        Eight<T> result;
        for (unsigned j = 0; j < kEight; ++j) {
            const float x = widened(value.v[j]) + shift[j];
            float y = x;
            if constexpr (kWork == ColumnWork::kGelu) y = gelu(x);
            if constexpr (kWork == ColumnWork::kGeluGradient) {
                y = widened(gradient.v[j]) * gelu_slope(x);
            }
            if constexpr (kWrites) result.v[j] = rounded<T>(y);
            if constexpr (kSums) sum[j] += y;
        }
        if constexpr (kWrites) write_eight(out + at, result);
    }
};

/// Adds up rows of sums: out[c] = Σ parts[r, c]. A block has 32 columns, and each of its threads
/// every eighth row.
struct RowSums {
    static constexpr unsigned kPhases = 2;
    static constexpr unsigned kColumns = 32;
    static constexpr unsigned kLanes = kernels::cuda::kThreads / kColumns;
    struct Shared {
        float sums[kLanes][kColumns];
    };
    using Local = kernels::cuda::Nothing;

    const float* parts;   ///< [rows, columns]
    std::size_t rows;     ///< those of `parts`
    std::size_t columns;  ///< those of `parts`
    float* out;           ///< [columns]

    /// The functions of a body (kernels/cuda/body.hpp).
    DEDLOC_HOST_DEVICE std::size_t blocks() const { return (columns + kColumns - 1) / kColumns; }
    DEDLOC_HOST_DEVICE void begin(std::size_t block, unsigned thread, Shared& shared,
                                  Local&) const {
        const std::size_t column = block * kColumns + thread % kColumns;
        float sum = 0;
        if (column < columns) {
            for (std::size_t row = thread / kColumns; row < rows; row += kLanes) {
                sum += parts[row * columns + column];
            }
        }
        shared.sums[thread / kColumns][thread % kColumns] = sum;
    }
    DEDLOC_HOST_DEVICE void resume(unsigned, std::size_t block, unsigned thread, Shared& shared,
                                   Local&) const {
        const std::size_t column = block * kColumns + thread;
        if (thread >= kColumns || column >= columns) return;
        float sum = 0;
        for (unsigned lane = 0; lane < kLanes; ++lane) sum += shared.sums[lane][thread];
        out[column] = sum;
    }
};

}  // namespace dedloc::training
