// The work of one thread in the kernels of global_norm.cu.
#pragma once

#include <cmath>

#include "kernels/cuda/segment_sums.hpp"

namespace dedloc::kernels::cuda {

/// Adds up squares; the members are those of every row (body.hpp).
template <bool kIsAligned>
struct SquaresRow {
    static constexpr bool kVector = kIsAligned;
    static constexpr unsigned kSums = 1;
    static constexpr unsigned kAhead = 8;
    using Loaded = Pack<float>;

    const float* values;  ///< input

    DEDLOC_HOST_DEVICE void prepare() {}

    template <class Count>
    DEDLOC_HOST_DEVICE Loaded load(std::size_t i, Count count) const {
        return read_pack<kVector>(values + i, count);
    }

    template <class Count>
    DEDLOC_HOST_DEVICE std::uint32_t apply(std::size_t, Count, const Loaded& loaded,
                                           double (&squares)[1][kPackElements]) const {
        for (unsigned j = 0; j < kPackElements; ++j) {
            squares[0][j] = add_square(squares[0][j], loaded.v[j]);
        }
        return 0;
    }
};

/// A Finish of TotalSums that stores the root of the only total.
struct StoreRoot {
    double* norm;  ///< output
    DEDLOC_HOST_DEVICE void operator()(const double (&totals)[1]) const {
        *norm = std::sqrt(totals[0]);
    }
};

}  // namespace dedloc::kernels::cuda
