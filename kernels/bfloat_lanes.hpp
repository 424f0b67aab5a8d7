// bfloat16 in the lanes of a vector. Every bit is the same with any instruction set, with one
// exception: the sum of two NaNs is either of them.
//
// Each function is one pass over its data. The caller holds an ExactArithmetic, and its spans are
// long enough and do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/arithmetic.hpp"
#include "kernels/instruction_set.hpp"

namespace dedloc::kernels {

/// out[i] = to_float(values[i]). Returns how many are not finite.
std::uint32_t widen_bfloats(InstructionSet set, const Bfloat16* values, float* out,
                            std::size_t count);
/// sum[i] += to_float(values[i]).
void add_bfloats(InstructionSet set, const Bfloat16* values, float* sum, std::size_t count);

/// out[i] = to_bfloat16(values[i]). Returns how many values are not finite.
std::uint32_t shorten_to_bfloats(InstructionSet set, const float* values, Bfloat16* out,
                                 std::size_t count);
/// The same for x[i] = values[i] + owed[i]; without `owed` (null) for x[i] = values[i] + 0, which
/// changes only −0. Returns how many x are not finite.
std::uint32_t shorten_to_bfloats(InstructionSet set, const float* values, const float* owed,
                                 Bfloat16* out, std::size_t count);
/// Computes the rounding errors: error[i] = x[i] − to_float(to_bfloat16(x[i])), where x[i] =
/// values[i] + error[i]. Returns how many x are not finite.
std::uint32_t keep_bfloat_errors(InstructionSet set, const float* values, float* error,
                                 std::size_t count);

}  // namespace dedloc::kernels
