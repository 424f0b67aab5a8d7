// The work of one thread in the kernels of accumulate.cu.
#pragma once

#include "kernels/cuda/segment_sums.hpp"

namespace dedloc::kernels::cuda {

/// Computes sum += scale × gradient, and adds up the squares of the rounded terms.
template <class Element, bool kIsAligned>
struct AccumulateRow {
    static constexpr bool kVector = kIsAligned;
    static constexpr unsigned kSums = 1;
    static constexpr unsigned kAhead = 4;
    static constexpr bool kFlags = true;
    /// One pack of each input.
    struct Loaded {
        Pack<float> sum;         ///< old sums
        Pack<Element> gradient;  ///< as in the row
    };

    float* sum;                ///< N, updated
    const Element* gradient;   ///< N
    float scale;               ///< multiplies the gradient
    std::uint32_t* is_finite;  ///< the flag

    /// Nothing to read: see walk.
    DEDLOC_HOST_DEVICE void prepare() {}

    template <class Count>
    DEDLOC_HOST_DEVICE Loaded load(std::size_t i, Count count) const {
        return {read_pack<kVector>(sum + i, count), read_pack<kVector>(gradient + i, count)};
    }

    template <class Count>
    DEDLOC_HOST_DEVICE std::uint32_t apply(std::size_t i, Count count, const Loaded& loaded,
                                           double (&squares)[1][kPackElements]) const {
        Pack<float> next;
        std::uint32_t bad = 0;
        for (unsigned j = 0; j < kPackElements; ++j) {
            // Beyond the count the term is 0 × scale, and its square adds +0 to the lane.
            const float term = scale * to_float(loaded.gradient.v[j]);
            next.v[j] = loaded.sum.v[j] + term;
            squares[0][j] = add_square(squares[0][j], term);
            bad += not_finite(next.v[j]);
        }
        write_pack<kVector>(sum + i, next, count);
        return bad;
    }
};

}  // namespace dedloc::kernels::cuda
