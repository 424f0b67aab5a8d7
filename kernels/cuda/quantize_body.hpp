// The work of one thread in the kernels of quantize.cu.
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

/// Encodes to fp16 and bf16. kFeedback: adds `error` first and overwrites it with the rounding
/// errors.
template <class Short, bool kFeedback, bool kIsAligned>
struct ShortenRow {
    static constexpr bool kVector = kIsAligned;
    static constexpr unsigned kAhead = 4;
    static constexpr bool kFlags = true;
    static constexpr bool kBackwards = false;
    using Loaded = Pack<float>;

    // Input, rounding errors (null without kFeedback), output and flag.
    const float* values;
    float* error;
    Short* out;
    std::uint32_t* is_finite;

    DEDLOC_HOST_DEVICE void prepare() {}

    template <class Count>
    DEDLOC_HOST_DEVICE Loaded load(std::size_t i, Count count) const {
        Pack<float> x = read_pack<kVector>(values + i, count);
        if constexpr (kFeedback) {
            const Pack<float> left = read_pack<kVector>(error + i, count);
            for (unsigned j = 0; j < kPackElements; ++j) x.v[j] = x.v[j] + left.v[j];
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
            x.v[j] = x.v[j] - to_float(rounded.v[j]);
        }
        write_pack<kVector>(out + i, rounded, count);
        if constexpr (kFeedback) write_pack<kVector>(error + i, x, count);
        return bad;
    }
};

/// Encodes to int8. 16 threads hold the 64 values of an int8 block and exchange their largest
/// magnitudes through `Shared`.
template <bool kFeedback, bool kIsAligned>
struct EncodeInt8Body {
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
        Pack<float> x[kAhead];  ///< values[i] + error[i]
    };

    // Input, rounding errors (null without kFeedback), outputs, flag and N.
    const float* values;
    float* error;
    std::int8_t* codes;
    std::uint8_t* exponents;
    std::uint32_t* is_finite;
    std::size_t count;

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
        if constexpr (kFeedback) {
            const Pack<float> left = read_pack<kIsAligned>(error + i, here);
            for (unsigned j = 0; j < kPackElements; ++j) x.v[j] = x.v[j] + left.v[j];
        }
        return x;
    }

    DEDLOC_HOST_DEVICE void encode(std::size_t i, Pack<float> x, std::uint32_t largest,
                                   bool leads) const {
        const std::uint32_t power = int8_exponent(largest);
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
        exponents[i / 64] = static_cast<std::uint8_t>(power);
        if (largest >= 0x7f800000u) clear_flag(is_finite);
    }

    template <class Count>
    DEDLOC_HOST_DEVICE void write(std::size_t i, const Pack<std::int8_t>& code,
                                  const Pack<float>& left, Count here) const {
        write_pack<kIsAligned>(codes + i, code, here);
        if constexpr (kFeedback) write_pack<kIsAligned>(error + i, left, here);
    }
};

}  // namespace dedloc::kernels::cuda
