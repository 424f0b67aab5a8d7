// The work of one thread in the kernels of finite.cu.
#pragma once

#include "kernels/cuda/body.hpp"

namespace dedloc::kernels::cuda {

/// Only tests its input; the members are those of every row (body.hpp).
template <bool kIsAligned>
struct FiniteRow {
    static constexpr bool kVector = kIsAligned;
    static constexpr unsigned kAhead = 8;
    using Loaded = Pack<float>;

    // Input and flag.
    const float* values;
    std::uint32_t* is_finite;  ///< set to 0 by a thread that finds one that is not

    DEDLOC_HOST_DEVICE void prepare() {}

    template <class Count>
    DEDLOC_HOST_DEVICE Loaded load(std::size_t i, Count count) const {
        return read_pack<kVector>(values + i, count);
    }

    template <class Count>
    DEDLOC_HOST_DEVICE std::uint32_t apply(std::size_t, Count, const Loaded& loaded,
                                           Nothing&) const {
        std::uint32_t bad = 0;
        for (const float value : loaded.v) bad += not_finite(value);
        return bad;
    }
};

}  // namespace dedloc::kernels::cuda
