// Each tensor draws from its own random stream, split from the seed by the tensor's index. So a
// tensor's values do not depend on the sizes of the tensors before it. near_normal() adds uniform
// numbers and needs no libm, so the values have the same bits on every machine.
#include "peer/state/initial_parameters.hpp"

#include <cstddef>

#include "peer/base/random.hpp"

namespace dedloc::state {

FloatVector initial_parameters(std::span<const TensorInit> tensors, std::uint64_t seed) {
    std::size_t total = 0;
    for (const TensorInit& tensor : tensors) total += static_cast<std::size_t>(tensor.count);
    FloatVector parameters;
    parameters.reserve(total);
    const Random random{seed};
    for (std::size_t t = 0; t < tensors.size(); ++t) {
        const auto count = static_cast<std::size_t>(tensors[t].count);
        if (tensors[t].kind != Initial::kNormal) {
            parameters.insert(parameters.end(), count,
                              tensors[t].kind == Initial::kOne ? 1.0f : 0.0f);
            continue;
        }
        Random stream = random.split(t);
        for (std::size_t i = 0; i < count; ++i) {
            parameters.push_back(static_cast<float>(tensors[t].deviation * stream.near_normal()));
        }
    }
    return parameters;
}

}  // namespace dedloc::state
