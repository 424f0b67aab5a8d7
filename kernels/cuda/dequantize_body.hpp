// The work of one thread in kernels that decode: those of dequantize.hpp, half_lanes.hpp,
// bfloat_lanes.hpp and int8_lanes.hpp.
#pragma once

#include "kernels/cuda/body.hpp"

namespace dedloc::kernels::cuda {

/// What is done with a number after it is decoded.
enum class Widened {
    kAsItIs,         ///< written, also a NaN's bits
    kScaled,         ///< multiplied by the scale first
    kScaledAndAdded  ///< multiplied, then added to the output
};

/// The arguments of a decoding of fp16 or bf16.
template <class Short>
struct Widening {
    const Short* values = nullptr;       ///< input
    float* out = nullptr;                ///< output
    float scale = 1;                     ///< a power of two
    std::uint32_t* is_finite = nullptr;  ///< the flag
};

/// Decodes fp16 and bf16.
template <class Short, Widened kUse, bool kIsAligned>
struct WidenRow : Widening<Short> {
    static constexpr bool kAdds = kUse == Widened::kScaledAndAdded;
    static constexpr bool kVector = kIsAligned;
    static constexpr unsigned kAhead = kAdds ? 4 : 8;
    static constexpr bool kFlags = true;
    static constexpr bool kBackwards = false;
    /// See walk.
    struct Loaded {
        Pack<Short> values;  ///< as in `values`
        Pack<float> sum;     ///< as in `out`; 0 without kAdds
    };

    /// The functions of a row: see walk.
    DEDLOC_HOST_DEVICE void prepare() {}

    template <class Count>
    DEDLOC_HOST_DEVICE Loaded load(std::size_t i, Count count) const {
        Loaded loaded{read_pack<kVector>(this->values + i, count), {}};
        if constexpr (kAdds) loaded.sum = read_pack<kVector>(this->out + i, count);
        return loaded;
    }

    template <class Count>
    DEDLOC_HOST_DEVICE std::uint32_t apply(std::size_t i, Count count, const Loaded& loaded,
                                           Nothing&) const {
        Pack<float> wide;
        std::uint32_t bad = 0;
        for (unsigned j = 0; j < kPackElements; ++j) {
            wide.v[j] = to_float(loaded.values.v[j]);
            if constexpr (kUse != Widened::kAsItIs) wide.v[j] = this->scale * wide.v[j];
            if constexpr (kAdds) wide.v[j] = loaded.sum.v[j] + wide.v[j];
            bad += not_finite(wide.v[j]);
        }
        write_pack<kVector>(this->out + i, wide, count);
        return bad;
    }
};

/// The arguments of a decoding of int8.
struct Int8Widening {
    const std::int8_t* codes = nullptr;       ///< input
    const std::uint8_t* exponents = nullptr;  ///< input, one for 64 codes
    float* out = nullptr;                     ///< output
    std::uint32_t* is_finite = nullptr;       ///< the flag
};

/// Decodes int8; with kAdds it adds the result to `out`. A pack never crosses the boundary of a
/// block of 64.
template <bool kAdds, bool kIsAligned>
struct WidenInt8Row : Int8Widening {
    static constexpr bool kVector = kIsAligned;
    static constexpr unsigned kAhead = kAdds ? 4 : 8;
    static constexpr bool kFlags = true;
    static constexpr bool kBackwards = false;
    struct Loaded {
        Pack<std::int8_t> codes;
        Pack<float> sum;  ///< as in `out`; 0 without kAdds
        std::uint8_t exponent;
    };

    DEDLOC_HOST_DEVICE void prepare() {}

    template <class Count>
    DEDLOC_HOST_DEVICE Loaded load(std::size_t i, Count count) const {
        Loaded loaded{read_pack<kVector>(codes + i, count), {}, exponents[i / 64]};
        if constexpr (kAdds) loaded.sum = read_pack<kVector>(out + i, count);
        return loaded;
    }

    /// Elements beyond `count` may be 0 × infinity and are not counted.
    template <class Count>
    DEDLOC_HOST_DEVICE std::uint32_t apply(std::size_t i, Count count, const Loaded& loaded,
                                           Nothing&) const {
        const float scale = power_of_two(loaded.exponent);
        Pack<float> wide;
        std::uint32_t bad = 0;
        for (unsigned j = 0; j < kPackElements; ++j) {
            wide.v[j] = int8_value(loaded.codes.v[j], scale);
            if constexpr (kAdds) wide.v[j] = loaded.sum.v[j] + wide.v[j];
            bad += j < count ? not_finite(wide.v[j]) : 0u;
        }
        write_pack<kVector>(out + i, wide, count);
        return bad;
    }
};

}  // namespace dedloc::kernels::cuda
