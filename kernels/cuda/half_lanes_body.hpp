// The work of one thread in the kernels of half_lanes.cu.
#pragma once

#include "kernels/cuda/body.hpp"

namespace dedloc::kernels::cuda {

/// Computes x = scale × values + scale × owed, or + addend without kAdds. Writes the halves of x,
/// or with kKeeps its rounding errors over `owed`.
template <bool kAdds, bool kKeeps, bool kIsAligned>
struct RoundRow {
    static constexpr bool kVector = kIsAligned;
    static constexpr unsigned kAhead = 4;
    static constexpr bool kFlags = true;
    static constexpr bool kBackwards = false;
    using Loaded = Pack<float>;

    const float* values;       ///< input
    const float* owed;         ///< null without kAdds
    Half* out;                 ///< null with kKeeps
    float* error;              ///< null without kKeeps, else `owed`
    float scale;               ///< a power of two
    float inverse_scale;       ///< 1 ÷ scale
    float addend;              ///< ignored with kAdds
    std::uint32_t* is_finite;  ///< the flag

    /// The functions of a row: see walk.
    DEDLOC_HOST_DEVICE void prepare() {}

    template <class Count>
    DEDLOC_HOST_DEVICE Loaded load(std::size_t i, Count count) const {
        Pack<float> x = read_pack<kVector>(values + i, count);
        if constexpr (kAdds) {
            const Pack<float> left = read_pack<kVector>(owed + i, count);
            for (unsigned j = 0; j < kPackElements; ++j) {
                x.v[j] = scale * x.v[j] + scale * left.v[j];
            }
        } else {
            for (float& value : x.v) value = scale * value + addend;
        }
        return x;
    }

    template <class Count>
    DEDLOC_HOST_DEVICE std::uint32_t apply(std::size_t i, Count count, Loaded x, Nothing&) const {
        Pack<Half> rounded;
        std::uint32_t bad = 0;
        for (unsigned j = 0; j < kPackElements; ++j) {
            rounded.v[j] = to_half(x.v[j]);
            bad += j < count ? not_finite(x.v[j]) : 0u;
            x.v[j] = inverse_scale * (x.v[j] - to_float(rounded.v[j]));
        }
        if constexpr (kKeeps) {
            write_pack<kVector>(error + i, x, count);
        } else {
            write_pack<kVector>(out + i, rounded, count);
        }
        return bad;
    }
};

/// Decodes halves and scales them; with kAdds it adds the result to `out`.
template <bool kAdds, bool kIsAligned>
struct ScaledRow {
    static constexpr bool kVector = kIsAligned;
    static constexpr unsigned kAhead = 4;
    static constexpr bool kFlags = true;
    static constexpr bool kBackwards = false;
    /// See walk.
    struct Loaded {
        Pack<Half> halves;  ///< as in `values`
        Pack<float> sum;    ///< as in `out`; 0 without kAdds
    };

    // Input, scale, output and flag.
    const Half* values;
    float scale;
    float* out;
    std::uint32_t* is_finite;

    /// The functions of a row: see walk.
    DEDLOC_HOST_DEVICE void prepare() {}

    template <class Count>
    DEDLOC_HOST_DEVICE Loaded load(std::size_t i, Count count) const {
        Loaded loaded{read_pack<kVector>(values + i, count), {}};
        if constexpr (kAdds) loaded.sum = read_pack<kVector>(out + i, count);
        return loaded;
    }

    template <class Count>
    DEDLOC_HOST_DEVICE std::uint32_t apply(std::size_t i, Count count, const Loaded& loaded,
                                           Nothing&) const {
        Pack<float> wide;
        std::uint32_t bad = 0;
        for (unsigned j = 0; j < kPackElements; ++j) {
            wide.v[j] = scale * to_float(loaded.halves.v[j]);
            if constexpr (kAdds) wide.v[j] = loaded.sum.v[j] + wide.v[j];
            bad += j < count ? not_finite(wide.v[j]) : 0u;
        }
        write_pack<kVector>(out + i, wide, count);
        return bad;
    }
};

}  // namespace dedloc::kernels::cuda
