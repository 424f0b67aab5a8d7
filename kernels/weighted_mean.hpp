// Averages the contributions of a round.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/workers.hpp"

namespace dedloc::kernels {

/// Mean over all samples of one part (or one chunk of it), from every sender's sum over its own
/// samples.
///
///     out[i] = (parts[0][i] + parts[1][i] + …) ÷ float(Σ_k weights[k])
///
/// A contribution is a *sum* over weights[k] samples, so it is already weighted: the sum of all
/// contributions divided by the number of all samples is the weighted mean of the senders' means,
/// with one rounding less.
///
/// Shapes    parts K×N, weights K, out N (K senders, N elements); N = 0 does nothing
/// Units     weights in samples; parts in gradient units, fp32
/// Order     k ascending by position in the round's member list, never by arrival
/// Requires  K ≥ 1, 0 < Σ weights, every part has N elements, out overlaps no part      (aborts)
/// Errors    none; overflow gives infinities, as fp32 addition does
/// Thread    any
/// Cost      4 (K + 1) bytes an element
/// Source    DeDLOC's averaging of gradients; differs: fixed order (hivemind adds as parts arrive)
void weighted_mean(std::span<const std::span<const float>> parts,
                   std::span<const std::uint64_t> weights, std::span<float> out,
                   const Workers& workers = ThisThread{});

}  // namespace dedloc::kernels
