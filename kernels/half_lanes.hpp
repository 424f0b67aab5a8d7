// binary16 in the lanes of a vector, with a power of two that all elements share. It uses the
// processor's conversions where there are any (F16C, AVX-512F), which round like arithmetic.hpp.
// Values that are not finite or beyond the range go through arithmetic.hpp, so every bit is the
// same with any instruction set, with one exception: the sum of two NaNs is either of them.
//
// Each function is one pass over its data. The caller holds an ExactArithmetic, and its spans are
// long enough and do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/arithmetic.hpp"
#include "kernels/instruction_set.hpp"

namespace dedloc::kernels {

/// out[i] = scale × to_float(values[i]).
void widen_halves(InstructionSet set, const Half* values, float scale, float* out,
                  std::size_t count);
/// sum[i] += scale × to_float(values[i]), rounding the product first.
void add_halves(InstructionSet set, const Half* values, float scale, float* sum, std::size_t count);

/// The values to round: x[i] = scale × values[i] + scale × owed[i], each operation rounded
/// separately; without `owed`, scale × values[i] + addend.
struct Unrounded {
    const float* values = nullptr;  ///< N elements
    float scale = 1;                ///< a power of two
    const float* owed = nullptr;    ///< N rounding errors of earlier vectors; null: none
    float addend = -0.0F;           ///< −0 changes nothing, +0 changes only −0
};

/// out[i] = to_half(x[i]). Returns how many x are not finite.
std::uint32_t shorten_to_halves(InstructionSet set, const Unrounded& x, Half* out,
                                std::size_t count);
/// Computes the rounding errors: error[i] = (x[i] − to_float(to_half(x[i]))) ÷ scale, where x[i] =
/// scale × values[i] + scale × error[i]. Returns how many x are not finite. Requires a scale of
/// 2⁻¹²⁶ to 2¹²⁶.
std::uint32_t keep_half_errors(InstructionSet set, const float* values, float scale, float* error,
                               std::size_t count);

}  // namespace dedloc::kernels
