// binary16 in the lanes of a vector: the conversions of the processor where it has them (F16C,
// AVX-512F), which round as arithmetic.hpp does; whatever is not finite, or beyond the range, goes
// through arithmetic.hpp, so every bit is the same with any instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/arithmetic.hpp"
#include "kernels/instruction_set.hpp"

namespace dedloc::kernels {

/// out[i] = to_float(values[i]). How many are not finite.
std::uint32_t widen_halves(InstructionSet set, const Half* values, float* out, std::size_t count);

/// out[i] = to_half(values[i]). How many values are not finite.
std::uint32_t shorten_to_halves(InstructionSet set, const float* values, Half* out,
                                std::size_t count);
/// The same of values[i] + error[i]; what rounding took from them is the new error[i].
std::uint32_t shorten_to_halves(InstructionSet set, const float* values, float* error, Half* out,
                                std::size_t count);

}  // namespace dedloc::kernels
