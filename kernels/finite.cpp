#include "kernels/finite.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/arithmetic.hpp"

namespace dedloc::kernels {
namespace {

/// Between two looks at the flag: long enough to vectorise, short enough to stop early.
constexpr std::size_t kBlock = 16'384;

bool block_is_finite(const float* values, std::size_t count) {
    std::uint32_t bad = 0;
    for (std::size_t i = 0; i < count; ++i) bad |= is_finite(values[i]) ? 0u : 1u;
    return bad == 0;
}

}  // namespace

bool all_finite(std::span<const float> values) {
    for (std::size_t first = 0; first < values.size(); first += kBlock) {
        const std::size_t count = std::min(kBlock, values.size() - first);
        if (!block_is_finite(values.data() + first, count)) return false;
    }
    return true;
}

}  // namespace dedloc::kernels
