// The checks of the kernels' arguments, shared by host and device. Each aborts with a sentence that
// names the fault. They read only addresses and extents, so spans may refer to device memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/lamb.hpp"
#include "kernels/quantize.hpp"
#include "kernels/sgd.hpp"

namespace dedloc::kernels {

/// Checks the arguments of accumulate.
template <class Element>
void require_accumulate(std::span<const float> sum, std::span<const Element> gradient, float scale);

/// Checks the arguments of weighted_mean. Returns the sum of the weights, by which the mean is
/// divided, rounded to nearest-even in any rounding mode of the thread.
float require_weighted_mean(std::span<const std::span<const float>> parts,
                            std::span<const std::uint64_t> weights, std::span<const float> out);

/// Checks the length of a vector that is summed.
void require_length(std::size_t count);

/// Check the limit of clip_factor and the factor of clip.
void require_norm_limit(float limit);
void require_clip(float factor);

/// Check the arguments of quantize; `error` is empty without feedback. require_feedback comes first
/// with feedback.
template <class Short>
void require_quantize(std::span<const float> values, std::span<const float> error,
                      std::span<const Short> out);
void require_quantize(std::span<const float> values, std::span<const float> error,
                      ConstInt8Blocks out);
void require_feedback(std::span<const float> values, std::span<const float> error);

/// Check the arguments of dequantize.
template <class Short>
void require_dequantize(std::span<const Short> values, std::span<const float> out);
void require_dequantize(ConstInt8Blocks values, std::span<const float> out);

/// Checks the arguments of lamb; `end` is SegmentTable::end().
void require_lamb(const LambVectors& vectors, std::uint64_t end, const LambScalars& scalars);

/// Checks the arguments of sgd; `end` is SegmentTable::end().
void require_sgd(const SgdVectors& vectors, std::uint64_t end, const SgdScalars& scalars);

/// Checks the number of places for ratios or rates: none, or one for each tensor.
void require_results(std::size_t places, std::size_t tensors);

}  // namespace dedloc::kernels
