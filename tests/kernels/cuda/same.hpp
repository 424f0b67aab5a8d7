// Comparison of bits, and the lengths that device kernels are tested with.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "kernels/arithmetic.hpp"

namespace dedloc::tests {

/// The number of elements that differ in any bit; all of them if the lengths differ.
template <class T>
std::size_t different(const std::vector<T>& a, const std::vector<T>& b) {
    if (a.size() != b.size()) return a.size() + b.size();
    std::size_t count = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        count += std::memcmp(&a[i], &b[i], sizeof(T)) == 0 ? 0u : 1u;
    }
    return count;
}

/// As different(), but NaNs count as equal: machines give the result of an invalid operation other
/// bits.
template <class T>
std::size_t different_except_nan(const std::vector<T>& a, const std::vector<T>& b) {
    if (a.size() != b.size()) return a.size() + b.size();
    std::size_t count = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const bool are_nan =
            std::isnan(kernels::to_float(a[i])) && std::isnan(kernels::to_float(b[i]));
        count += are_nan || std::memcmp(&a[i], &b[i], sizeof(T)) == 0 ? 0u : 1u;
    }
    return count;
}

inline bool same_double(double a, double b) {
    return std::memcmp(&a, &b, sizeof(a)) == 0;
}

/// Lengths around a pack, a row, the four rows that are read ahead, and a segment.
inline const std::vector<std::size_t>& device_sizes() {
    static const std::vector<std::size_t> sizes {
        0, 1, 3, 4, 5, 63, 64, 65, 1023, 1024, 1025, 4095, 4097, 65'535, 65'536, 65'537,
#if !defined(DEDLOC_DEVICE_IS_HOST)
            300'001, 5'000'003,
#else
            200'003,
#endif
    };
    return sizes;
}

}  // namespace dedloc::tests
