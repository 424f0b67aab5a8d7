// Vectors that distinguish exact from nearly exact arithmetic: denormals, both zeros, huge and tiny
// values among ordinary ones.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/reduction.hpp"
#include "peer/base/random.hpp"

namespace dedloc::tests {

inline const std::array<std::size_t, 7> kSizes{0, 1, 3, 1023, 1025, 65'535, 65'537};

/// Distinguishes −0 from +0, unlike ==.
inline bool same_bits(float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

/// Ordinary values of about `scale`.
inline std::vector<float> ordinary(Random random, std::size_t count, double scale = 1) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(scale * random.near_normal());
    return values;
}

/// Every kind of finite value, the largest about `huge`.
inline std::vector<float> adversarial(Random random, std::size_t count, double huge = 1e37) {
    std::vector<float> values(count);
    for (float& value : values) {
        const auto sign = static_cast<std::uint32_t>(random.next() & 1) << 31;
        const std::uint64_t kind = random.below(8);
        if (kind == 0) {
            value = std::bit_cast<float>(sign);  // ±0
        } else if (kind == 1) {
            value =
                std::bit_cast<float>(sign | static_cast<std::uint32_t>(random.below(0x00800000)));
        } else if (kind == 2) {
            value = static_cast<float>(huge * random.near_normal() / 6);
        } else if (kind == 3) {
            value = static_cast<float>(1e-30 * random.near_normal());
        } else {
            value = static_cast<float>(random.near_normal());
        }
    }
    return values;
}

/// A span longer than a reduction can take. It must not be read: the memory does not exist.
template <class T>
std::span<T> too_long(std::vector<T>& values) {
    return {values.data(), kernels::kMaxElements + 1};
}

}  // namespace dedloc::tests
