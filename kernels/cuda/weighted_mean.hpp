// Device version of kernels/weighted_mean.hpp.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cuda/device_span.hpp"
#include "kernels/cuda/stream.hpp"

namespace dedloc::kernels::cuda {

/// Mean over all samples of one part, from every sender's sum over its own; the host's bits.
///
///     out[i] = (parts[0][i] + parts[1][i] + …) ÷ float(Σ_k weights[k])
///
/// Shapes    parts K×N, weights K (both lists on the host), out N; N = 0 does nothing
/// Order     k ascending by position in the round's member list, never by arrival
/// Requires  K ≥ 1, 0 < Σ weights, every part has N elements, out overlaps no part      (aborts)
/// Errors    CudaError if a launch fails      Stream  enqueued, not awaited
/// Cost      4 (K + 1) bytes an element, 1 launch; 8 bytes and a launch more for each 64 senders
///           after the first 64
void weighted_mean(std::span<const DeviceSpan<const float>> parts,
                   std::span<const std::uint64_t> weights, DeviceSpan<float> out,
                   StreamView stream);

}  // namespace dedloc::kernels::cuda
