// Decodes the vectors that quantize.hpp encodes.
#pragma once

#include <span>

#include "kernels/quantize.hpp"

namespace dedloc::kernels {

/// out[i] = the value that was sent, exactly. Accepts any bytes: they come from untrusted peers.
///
/// Returns   whether every out[i] is finite
/// Shapes    values N (int8: N codes and ⌈N ÷ 64⌉ exponents), out N; N = 0 does nothing
/// Requires  equal extents, no overlap      (aborts)      Thread  any
/// Cost      6 bytes an element; int8 5.02
[[nodiscard]] bool dequantize(std::span<const Half> values, std::span<float> out,
                              const Workers& workers = ThisThread{});
[[nodiscard]] bool dequantize(std::span<const Bfloat16> values, std::span<float> out,
                              const Workers& workers = ThisThread{});
[[nodiscard]] bool dequantize(ConstInt8Blocks values, std::span<float> out,
                              const Workers& workers = ThisThread{});

}  // namespace dedloc::kernels
