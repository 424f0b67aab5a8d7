#include "kernels/cuda/weighted_mean.hpp"

#include <algorithm>
#include <vector>

#include "kernels/cuda/enqueue.hpp"
#include "kernels/cuda/weighted_mean_body.hpp"
#include "kernels/requirements.hpp"

namespace dedloc::kernels::cuda {
namespace {

template <bool kIsAligned>
void enqueue_all(std::span<const DeviceSpan<const float>> parts, float samples,
                 DeviceSpan<float> out, StreamView stream) {
    for (std::size_t first = 0; first < parts.size(); first += kLaunchParts) {
        const std::size_t count = std::min<std::size_t>(kLaunchParts, parts.size() - first);
        MeanBody<kIsAligned> body{.parts = {},
                                  .part_count = static_cast<unsigned>(count),
                                  .is_first = first == 0,
                                  .is_last = first + count == parts.size(),
                                  .samples = samples,
                                  .out = out.data(),
                                  .count = out.size()};
        for (std::size_t k = 0; k < count; ++k) body.parts[k] = parts[first + k].data();
        enqueue(body, stream, "averaging");
    }
}

}  // namespace

void weighted_mean(std::span<const DeviceSpan<const float>> parts,
                   std::span<const std::uint64_t> weights, DeviceSpan<float> out,
                   StreamView stream) {
    std::vector<std::span<const float>> addresses;
    for (const DeviceSpan<const float>& part : parts) addresses.push_back(part.addresses());
    const float samples = require_weighted_mean(addresses, weights, out.addresses());
    const bool are_aligned = is_aligned(out.data()) &&
                             std::all_of(parts.begin(), parts.end(),
                                         [](const auto& part) { return is_aligned(part.data()); });
    if (are_aligned) {
        enqueue_all<true>(parts, samples, out, stream);
    } else {
        enqueue_all<false>(parts, samples, out, stream);
    }
}

}  // namespace dedloc::kernels::cuda
