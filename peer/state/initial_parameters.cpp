// Each tensor draws from its own random stream, split from the seed by the tensor's index. So a
// tensor's values do not depend on the sizes of the tensors before it. near_normal() adds uniform
// numbers and needs no libm, so the values have the same bits on every machine.
#include "peer/state/initial_parameters.hpp"

#include <algorithm>
#include <cstddef>

#include "peer/base/random.hpp"

namespace dedloc::state {

FloatVector initial_parameters(std::span<const TensorInit> tensors, std::uint64_t seed) {
    std::uint64_t total = 0;
    for (const TensorInit& tensor : tensors) total += tensor.count + tensor.padding;
    FloatVector parameters(static_cast<std::size_t>(total));
    const Random random{seed};
    float* next = parameters.data();
    for (std::size_t t = 0; t < tensors.size(); ++t) {
        const TensorInit& tensor = tensors[t];
        const std::span values{next, static_cast<std::size_t>(tensor.count)};
        next += tensor.count + tensor.padding;
        if (tensor.kind == Initial::kOne) std::ranges::fill(values, 1.0f);
        if (tensor.kind != Initial::kNormal) continue;
        Random stream = random.split(t);
        for (float& x : values) x = static_cast<float>(tensor.deviation * stream.near_normal());
    }
    return parameters;
}

}  // namespace dedloc::state
