// The work of one thread in kernels that encode: those of quantize.hpp, half_lanes.hpp,
// bfloat_lanes.hpp and int8_lanes.hpp.
#pragma once

#include "kernels/cuda/body.hpp"

namespace dedloc::kernels::cuda {

template <class Short>
DEDLOC_HOST_DEVICE inline Short to_short(float x) {
    if constexpr (std::is_same_v<Short, Half>) {
        return to_half(x);
    } else {
        return to_bfloat16(x);
    }
}

/// What is rounded: x[i].
enum class Input {
    kAsItIs,     ///< values[i], also its NaNs
    kScaled,     ///< scale × values[i] + addend
    kScaledOwed  ///< scale × values[i] + scale × owed[i]
};

/// The arguments of a rounding to fp16 or bf16. Pointers that are not used are null.
template <class Short>
struct Rounding {
    const float* values = nullptr;       ///< input
    const float* owed = nullptr;         ///< rounding errors of earlier vectors
    Short* out = nullptr;                ///< rounded x
    float* error = nullptr;              ///< rounding errors of x ÷ scale; may be `owed`
    float scale = 1;                     ///< a power of two
    float inverse_scale = 1;             ///< 1 ÷ scale
    float addend = -0.0F;                ///< −0 changes nothing, +0 changes only −0
    std::uint32_t* is_finite = nullptr;  ///< the flag
};

/// Encodes to fp16 and bf16. kWrites: writes the rounded x. kKeeps: writes the rounding errors.
template <class Short, Input kInput, bool kWrites, bool kKeeps, bool kIsAligned>
struct RoundRow : Rounding<Short> {
    static constexpr bool kVector = kIsAligned;
    static constexpr unsigned kAhead = 4;
    static constexpr bool kFlags = true;
    static constexpr bool kBackwards = false;
    using Loaded = Pack<float>;

    /// The functions of a row: see walk.
    DEDLOC_HOST_DEVICE void prepare() {}

    template <class Count>
    DEDLOC_HOST_DEVICE Loaded load(std::size_t i, Count count) const {
        Pack<float> x = read_pack<kVector>(this->values + i, count);
        if constexpr (kInput == Input::kScaled) {
            for (float& value : x.v) value = this->scale * value + this->addend;
        } else if constexpr (kInput == Input::kScaledOwed) {
            const Pack<float> left = read_pack<kVector>(this->owed + i, count);
            for (unsigned j = 0; j < kPackElements; ++j) {
                x.v[j] = this->scale * x.v[j] + this->scale * left.v[j];
            }
        }
        return x;
    }

    template <class Count>
    DEDLOC_HOST_DEVICE std::uint32_t apply(std::size_t i, Count count, Loaded x, Nothing&) const {
        Pack<Short> rounded;
        std::uint32_t bad = 0;
        for (unsigned j = 0; j < kPackElements; ++j) {
            rounded.v[j] = to_short<Short>(x.v[j]);
            bad += not_finite(x.v[j]);
            x.v[j] = this->inverse_scale * (x.v[j] - to_float(rounded.v[j]));
        }
        if constexpr (kWrites) write_pack<kVector>(this->out + i, rounded, count);
        if constexpr (kKeeps) write_pack<kVector>(this->error + i, x, count);
        return bad;
    }
};

/// The arguments of an encoding to int8. Pointers that are not used are null.
struct Int8Encoding {
    const float* values = nullptr;       ///< input
    const float* owed = nullptr;         ///< rounding errors of earlier vectors
    std::int8_t* codes = nullptr;        ///< output
    std::uint8_t* exponents = nullptr;   ///< output, one for 64 codes
    float* error = nullptr;              ///< rounding errors; may be `owed`
    std::uint32_t max_exponent = 0;      ///< bound of the exponents; larger values are clipped
    std::uint32_t* is_finite = nullptr;  ///< the flag
    std::size_t count = 0;               ///< N
};

/// Encodes to int8. 16 threads hold the 64 values of an int8 block and exchange their largest
/// magnitudes through `Shared`. kAdds: adds `owed`. kWrites: writes codes and exponents. kKeeps:
/// writes the rounding errors.
template <bool kAdds, bool kWrites, bool kKeeps, bool kIsAligned>
struct EncodeInt8Body : Int8Encoding {
    static constexpr unsigned kPhases = 2;
    static constexpr unsigned kAhead = 4;
    static constexpr std::size_t kBlockElements = kAhead * kLanes;
    /// Threads that share an int8 block.
    static constexpr unsigned kBlockThreads = 64 / kPackElements;
    struct Shared {
        /// The largest magnitude in each pack of each thread, as bits.
        alignas(16) std::uint32_t largest[kAhead * kThreads];
    };
    /// The thread's values, with the errors added.
    struct Local {
        Pack<float> x[kAhead];  ///< values[i] + owed[i]
    };

    std::size_t blocks() const { return (count + kBlockElements - 1) / kBlockElements; }

    /// Reads the values and shares their magnitudes; resume encodes.
    DEDLOC_HOST_DEVICE void begin(std::size_t block, unsigned thread, Shared& shared,
                                  Local& local) const {
        const std::size_t first = block * kBlockElements + kPackElements * thread;
        for (unsigned a = 0; a < kAhead; ++a) local.x[a] = read(first + a * kLanes);
        for (unsigned a = 0; a < kAhead; ++a) {
            std::uint32_t largest = 0;
            for (const float x : local.x[a].v) {
                const std::uint32_t magnitude = magnitude_bits(x);
                largest = magnitude > largest ? magnitude : largest;
            }
            shared.largest[a * kThreads + thread] = largest;
        }
    }

    DEDLOC_HOST_DEVICE void resume(unsigned, std::size_t block, unsigned thread, Shared& shared,
                                   Local& local) const {
        const unsigned leader = thread - thread % kBlockThreads;
        for (unsigned a = 0; a < kAhead; ++a) {
            const std::size_t i = block * kBlockElements + a * kLanes + kPackElements * thread;
            if (i >= count) return;
            std::uint32_t largest = 0;
            const std::uint32_t* const others = shared.largest + a * kThreads + leader;
            for (unsigned t = 0; t < kBlockThreads; t += kPackElements) {
                const auto four = read_pack<true>(others + t, Whole{});
                for (const std::uint32_t magnitude : four.v) {
                    largest = magnitude > largest ? magnitude : largest;
                }
            }
            encode(i, local.x[a], largest, thread == leader);
        }
    }

  private:
    DEDLOC_HOST_DEVICE Pack<float> read(std::size_t i) const {
        if (i + kPackElements <= count) return read_some(i, Whole{});
        return i < count ? read_some(i, static_cast<Part>(count - i)) : Pack<float>{};
    }

    template <class Count>
    DEDLOC_HOST_DEVICE Pack<float> read_some(std::size_t i, Count here) const {
        Pack<float> x = read_pack<kIsAligned>(values + i, here);
        if constexpr (kAdds) {
            const Pack<float> left = read_pack<kIsAligned>(owed + i, here);
            for (unsigned j = 0; j < kPackElements; ++j) x.v[j] = x.v[j] + left.v[j];
        }
        return x;
    }

    DEDLOC_HOST_DEVICE void encode(std::size_t i, Pack<float> x, std::uint32_t largest,
                                   bool leads) const {
        const std::uint32_t least = int8_exponent(largest);
        const std::uint32_t power = least > max_exponent ? max_exponent : least;
        const float scale = power_of_two(power);
        const float inverse = power_of_two(254 - power);
        Pack<std::int8_t> code;
        for (unsigned j = 0; j < kPackElements; ++j) {
            code.v[j] = int8_code(x.v[j], inverse);
            x.v[j] = x.v[j] - int8_value(code.v[j], scale);
        }
        if (i + kPackElements <= count) {
            write(i, code, x, Whole{});
        } else {
            write(i, code, x, static_cast<Part>(count - i));
        }
        if (!leads) return;
        if constexpr (kWrites) exponents[i / 64] = static_cast<std::uint8_t>(power);
        if (largest >= 0x7f800000u) clear_flag(is_finite);
    }

    template <class Count>
    DEDLOC_HOST_DEVICE void write(std::size_t i, const Pack<std::int8_t>& code,
                                  const Pack<float>& left, Count here) const {
        if constexpr (kWrites) write_pack<kIsAligned>(codes + i, code, here);
        if constexpr (kKeeps) write_pack<kIsAligned>(error + i, left, here);
    }
};

}  // namespace dedloc::kernels::cuda
