// The work of one thread in the kernels of unit_rows.cu.
#pragma once

#include "kernels/cuda/table_sums.hpp"

namespace dedloc::kernels::cuda {

/// Adds up the squares of a row.
struct UnitSquares {
    static constexpr unsigned kSums = 1;   ///< see TableSums
    static constexpr unsigned kAhead = 8;  ///< see walk
    using Loaded = Pack<float>;            ///< see walk

    const float* values;  ///< input

    /// See AlignedRow.
    DEDLOC_HOST_DEVICE void enter(std::size_t, const TensorSegments&) {}

    template <bool kVector, class Count>
    DEDLOC_HOST_DEVICE Loaded load(std::size_t i, Count count) const {
        return read_pack<kVector>(values + i, count);
    }

    template <bool kVector, class Count>
    DEDLOC_HOST_DEVICE std::uint32_t apply(std::size_t, Count, const Loaded& loaded,
                                           double (&squares)[1][kPackElements]) const {
        for (unsigned j = 0; j < kPackElements; ++j) {
            squares[0][j] = add_square(squares[0][j], loaded.v[j]);
        }
        return 0;
    }
};

/// Computes what a row is divided by from the sum of its squares.
struct UnitDivisor {
    double* divisors;  ///< output, one for each row; 0: the row stays as it is

    DEDLOC_HOST_DEVICE void operator()(std::size_t index, const TensorSegments&,
                                       const double (&squares)[1]) const {
        divisors[index] = unit_divisor(squares[0]);
    }
};

/// x ← x ÷ divisor
struct UnitElements {
    static constexpr unsigned kAhead = 4;
    using Loaded = Pack<float>;

    float* values;
    const double* divisors;
    double divisor = 0;

    DEDLOC_HOST_DEVICE void enter(std::size_t index, const TensorSegments&) {
        divisor = divisors[index];
    }

    template <bool kVector, class Count>
    DEDLOC_HOST_DEVICE Loaded load(std::size_t i, Count count) const {
        return read_pack<kVector>(values + i, count);
    }

    template <bool kVector, class Count>
    DEDLOC_HOST_DEVICE std::uint32_t apply(std::size_t i, Count count, const Loaded& loaded,
                                           Nothing&) const {
        if (!(divisor > 0)) return 0;
        Pack<float> next;
        for (unsigned j = 0; j < kPackElements; ++j) {
            next.v[j] = unit_element(loaded.v[j], divisor);
        }
        write_pack<kVector>(values + i, next, count);
        return 0;
    }
};

}  // namespace dedloc::kernels::cuda
