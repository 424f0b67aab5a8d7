// binary16 in the lanes of a vector, beside a power of two that all elements share: the conversions
// of the processor where it has them (F16C, AVX-512F), which round as arithmetic.hpp does; whatever
// is not finite, or beyond the range, goes through arithmetic.hpp, so every bit is the same with
// any instruction set. But where two NaNs meet in a sum, nothing says which of them stays.
//
// Each is one pass over what it reads and writes. The caller has an ExactArithmetic, and spans that
// are long enough and do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/arithmetic.hpp"
#include "kernels/instruction_set.hpp"

namespace dedloc::kernels {

/// out[i] = to_float(values[i]). How many are not finite.
std::uint32_t widen_halves(InstructionSet set, const Half* values, float* out, std::size_t count);
/// out[i] = scale × to_float(values[i]).
void widen_halves(InstructionSet set, const Half* values, float scale, float* out,
                  std::size_t count);
/// sum[i] += scale × to_float(values[i]), rounding the product first.
void add_halves(InstructionSet set, const Half* values, float scale, float* sum, std::size_t count);

/// What is to be rounded: x[i] = scale × values[i] + scale × owed[i], each operation by itself;
/// without `owed`, scale × values[i] + addend. As an addend −0 changes nothing, and +0 only −0.
struct Unrounded {
    const float* values = nullptr;
    float scale = 1;
    const float* owed = nullptr;
    float addend = -0.0F;
};

/// out[i] = to_half(x[i]). How many x are not finite.
std::uint32_t shorten_to_halves(InstructionSet set, const Unrounded& x, Half* out,
                                std::size_t count);
/// The same of values[i] + error[i]; what rounding took from them is the new error[i].
std::uint32_t shorten_to_halves(InstructionSet set, const float* values, float* error, Half* out,
                                std::size_t count);
/// What rounding takes: error[i] = (x[i] − to_float(to_half(x[i]))) ÷ scale, where x[i] = scale ×
/// values[i] + scale × error[i]. How many x are not finite. Requires a scale of 2⁻¹²⁶ to 2¹²⁶.
std::uint32_t keep_half_errors(InstructionSet set, const float* values, float scale, float* error,
                               std::size_t count);

}  // namespace dedloc::kernels
