#include "kernels/bfloat_lanes.hpp"

namespace dedloc::kernels {
namespace {

template <bool kAdds>
struct Widen {
    DEDLOC_LOOP std::uint32_t run(const Bfloat16* values, float* out, std::size_t count) {
        std::uint32_t bad = 0;
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
            const float value = to_float(values[i]);
            out[i] = kAdds ? out[i] + value : value;
            bad += is_finite(value) ? 0u : 1u;
        }
        return bad;
    }
};

/// What is added to a value before it is rounded.
enum class Addend {
    kNothing,
    kZero,  ///< +0, which changes −0
    kOwed,  ///< the rounding errors of earlier vectors
};

/// kKeeps: writes the rounding errors instead of the encoded values, over `owed` if they are the
/// same array. Returns how many x are not finite.
template <Addend kAddend, bool kKeeps>
struct Shorten {
    DEDLOC_LOOP std::uint32_t run(const float* values, const float* owed, Bfloat16* out,
                                  float* error, std::size_t count) {
        std::uint32_t bad = 0;
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
            float x = values[i];
            if constexpr (kAddend == Addend::kZero) x = x + 0.0F;
            if constexpr (kAddend == Addend::kOwed) x = x + owed[i];
            const Bfloat16 rounded = to_bfloat16(x);
            if constexpr (kKeeps) {
                error[i] = x - to_float(rounded);
            } else {
                out[i].bits = rounded.bits;
            }
            bad += is_finite(x) ? 0u : 1u;
        }
        return bad;
    }
};

}  // namespace

std::uint32_t widen_bfloats(InstructionSet set, const Bfloat16* values, float* out,
                            std::size_t count) {
    return run_for<Widen<false>>(set, values, out, count);
}

void add_bfloats(InstructionSet set, const Bfloat16* values, float* sum, std::size_t count) {
    run_for<Widen<true>>(set, values, sum, count);
}

std::uint32_t shorten_to_bfloats(InstructionSet set, const float* values, Bfloat16* out,
                                 std::size_t count) {
    const float* const owed = nullptr;
    float* const error = nullptr;
    return run_for<Shorten<Addend::kNothing, false>>(set, values, owed, out, error, count);
}

std::uint32_t shorten_to_bfloats(InstructionSet set, const float* values, const float* owed,
                                 Bfloat16* out, std::size_t count) {
    float* const error = nullptr;
    if (owed == nullptr) {
        return run_for<Shorten<Addend::kZero, false>>(set, values, owed, out, error, count);
    }
    return run_for<Shorten<Addend::kOwed, false>>(set, values, owed, out, error, count);
}

std::uint32_t keep_bfloat_errors(InstructionSet set, const float* values, float* error,
                                 std::size_t count) {
    const float* const owed = error;
    Bfloat16* const out = nullptr;
    return run_for<Shorten<Addend::kOwed, true>>(set, values, owed, out, error, count);
}

}  // namespace dedloc::kernels
