// What kernels refuse, in the same sentences on host and device; each abort says what was wrong.
// Only addresses and extents are looked at, so spans may be of a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/lamb.hpp"
#include "kernels/quantize.hpp"
#include "kernels/sgd.hpp"

namespace dedloc::kernels {

template <class Element>
void require_accumulate(std::span<const float> sum, std::span<const Element> gradient, float scale);

/// The sum of the weights, which a mean divides by: to nearest-even, however the thread rounds.
float require_weighted_mean(std::span<const std::span<const float>> parts,
                            std::span<const std::uint64_t> weights, std::span<const float> out);

/// The length of a row that is summed.
void require_length(std::size_t count);

void require_norm_limit(float limit);
void require_clip(float factor);

/// `error` is empty where nothing is fed back.
template <class Short>
void require_quantize(std::span<const float> values, std::span<const float> error,
                      std::span<const Short> out);
void require_quantize(std::span<const float> values, std::span<const float> error,
                      ConstInt8Blocks out);
void require_feedback(std::span<const float> values, std::span<const float> error);

template <class Short>
void require_dequantize(std::span<const Short> values, std::span<const float> out);
void require_dequantize(ConstInt8Blocks values, std::span<const float> out);

void require_lamb(std::span<const float> p, std::span<const float> m, std::span<const float> v,
                  std::span<const float> gradient, const LambScalars& scalars);

void require_sgd(std::span<const float> p, std::span<const float> b,
                 std::span<const float> gradient, const SgdScalars& scalars);

}  // namespace dedloc::kernels
