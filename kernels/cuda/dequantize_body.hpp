// The work of one thread in the kernels of dequantize.cu.
#pragma once

#include "kernels/cuda/body.hpp"

namespace dedloc::kernels::cuda {

/// Decodes fp16 and bf16.
template <class Short, bool kIsAligned>
struct WidenRow {
    static constexpr bool kVector = kIsAligned;
    static constexpr unsigned kAhead = 8;
    static constexpr bool kFlags = true;
    static constexpr bool kBackwards = false;
    using Loaded = Pack<Short>;

    // Input, output and flag.
    const Short* values;
    float* out;
    std::uint32_t* is_finite;

    DEDLOC_HOST_DEVICE void prepare() {}

    template <class Count>
    DEDLOC_HOST_DEVICE Loaded load(std::size_t i, Count count) const {
        return read_pack<kVector>(values + i, count);
    }

    template <class Count>
    DEDLOC_HOST_DEVICE std::uint32_t apply(std::size_t i, Count count, const Loaded& loaded,
                                           Nothing&) const {
        Pack<float> wide;
        std::uint32_t bad = 0;
        for (unsigned j = 0; j < kPackElements; ++j) {
            wide.v[j] = to_float(loaded.v[j]);
            bad += not_finite(wide.v[j]);
        }
        write_pack<kVector>(out + i, wide, count);
        return bad;
    }
};

/// Decodes int8. A pack never crosses the boundary of a block of 64.
template <bool kIsAligned>
struct WidenInt8Row {
    static constexpr bool kVector = kIsAligned;
    static constexpr unsigned kAhead = 8;
    static constexpr bool kFlags = true;
    static constexpr bool kBackwards = false;
    struct Loaded {
        Pack<std::int8_t> codes;
        std::uint8_t exponent;
    };

    const std::int8_t* codes;
    const std::uint8_t* exponents;
    float* out;
    std::uint32_t* is_finite;

    DEDLOC_HOST_DEVICE void prepare() {}

    template <class Count>
    DEDLOC_HOST_DEVICE Loaded load(std::size_t i, Count count) const {
        return {read_pack<kVector>(codes + i, count), exponents[i / 64]};
    }

    template <class Count>
    DEDLOC_HOST_DEVICE std::uint32_t apply(std::size_t i, Count count, const Loaded& loaded,
                                           Nothing&) const {
        const float scale = power_of_two(loaded.exponent);
        Pack<float> wide;
        std::uint32_t bad = 0;
        for (unsigned j = 0; j < kPackElements; ++j) {
            wide.v[j] = int8_value(loaded.codes.v[j], scale);
            bad += j < count ? not_finite(wide.v[j]) : 0u;
        }
        write_pack<kVector>(out + i, wide, count);
        return bad;
    }
};

}  // namespace dedloc::kernels::cuda
