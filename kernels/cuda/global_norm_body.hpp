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
    static constexpr bool kFlags = false;
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

struct StoreRoot {
    double* norm;
    DEDLOC_HOST_DEVICE void operator()(const double (&totals)[1]) const {
        *norm = std::sqrt(totals[0]);
    }
};

/// values ← factor × values
template <bool kIsAligned>
struct ScaleRow {
    static constexpr bool kVector = kIsAligned;
    static constexpr unsigned kAhead = 4;
    static constexpr bool kFlags = false;
    static constexpr bool kBackwards = true;
    using Loaded = Pack<float>;

    float* values;
    const float* factor_of_all;
    float factor = 1;

    DEDLOC_HOST_DEVICE void prepare() { factor = *factor_of_all; }

    template <class Count>
    DEDLOC_HOST_DEVICE Loaded load(std::size_t i, Count count) const {
        return read_pack<kVector>(values + i, count);
    }

    template <class Count>
    DEDLOC_HOST_DEVICE std::uint32_t apply(std::size_t i, Count count, Loaded loaded,
                                           Nothing&) const {
        for (float& value : loaded.v) value = factor * value;
        write_pack<kVector>(values + i, loaded, count);
        return 0;
    }
};

/// The factor of kernels/global_norm.hpp, by one thread.
struct ClipFactorBody {
    static constexpr unsigned kPhases = 1;
    using Shared = Nothing;
    using Local = Nothing;

    const double* norm;  ///< input
    float limit;         ///< 0: no clipping
    float* factor;       ///< output

    /// The functions of a body: see body.hpp.
    static std::size_t blocks() { return 1; }

    DEDLOC_HOST_DEVICE void begin(std::size_t, unsigned thread, Shared&, Local&) const {
        if (thread != 0) return;
        const auto wide_limit = static_cast<double>(limit);
        const bool clips = limit > 0 && *norm > wide_limit;
        *factor = clips ? static_cast<float>(wide_limit / *norm) : 1.0f;
    }
    DEDLOC_HOST_DEVICE void resume(unsigned, std::size_t, unsigned, Shared&, Local&) const {}
};

}  // namespace dedloc::kernels::cuda
