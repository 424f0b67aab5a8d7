// Vectors that hold many tensors, with gaps between them that no update may read or write.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/lamb.hpp"
#include "kernels/sgd.hpp"
#include "tests/kernels/inputs.hpp"

namespace dedloc::tests {

using Floats = std::vector<float>;

/// Tensors of every length around a pack, a row and a segment, at aligned and unaligned offsets,
/// with and without gaps, of every kind.
inline std::vector<kernels::TensorPlace> places_with_gaps() {
    std::vector<kernels::TensorPlace> places;
    std::uint64_t at = 5;
    std::uint64_t index = 0;
    for (const std::uint64_t count : {1u, 3u, 4u, 64u, 0u, 1023u, 1025u, 4096u, 65'535u, 65'536u,
                                      65'537u, 70'000u, 131'100u, 2u}) {
        if (index % 3 != 0) at = (at + 63) / 64 * 64;
        places.push_back(
            {.offset = at, .count = count, .decays = index % 2 == 0, .adapts = index % 5 != 4});
        at += count + (index % 4 == 1 ? 0 : index);
        ++index;
    }
    return places;
}

/// A signalling NaN, which no arithmetic keeps. It fills the gaps of all vectors.
inline constexpr std::uint32_t kGapBits = 0x7fa5'5a5a;

/// A model's vectors before an update. Gaps hold kGapBits.
struct ManyTensors {
    explicit ManyTensors(const std::vector<kernels::TensorPlace>& places) {
        const std::size_t end =
            static_cast<std::size_t>(places.back().offset + places.back().count) + 7;
        for (Floats* const values : {&p, &m, &v, &gradient}) {
            values->resize(end);
            for (float& value : *values) std::memcpy(&value, &kGapBits, sizeof(value));
        }
        std::uint64_t stream = 0;
        for (const kernels::TensorPlace& place : places) {
            const auto count = static_cast<std::size_t>(place.count);
            const auto put = [&](Floats& to, const Floats& from) {
                if (from.empty()) return;
                std::memcpy(&to[static_cast<std::size_t>(place.offset)], from.data(),
                            from.size() * sizeof(float));
            };
            const Random random = Random{7}.split(stream++);
            put(p, adversarial(random.split(0), count, 1e10));
            put(m, adversarial(random.split(1), count, 1e-3));
            Floats squares = adversarial(random.split(2), count, 1e-3);
            for (float& x : squares) x = x < 0 ? 0.0f - x : x;
            put(v, squares);
            put(gradient, adversarial(random.split(3), count, 1e3));
        }
    }

    kernels::LambVectors lamb() { return {p, m, v, gradient}; }
    kernels::SgdVectors sgd() { return {p, m, gradient}; }

    bool has_bits_of(const ManyTensors& other) const {
        const auto are_equal = [](const Floats& a, const Floats& b) {
            return a.size() == b.size() && std::memcmp(a.data(), b.data(), 4 * a.size()) == 0;
        };
        return are_equal(p, other.p) && are_equal(m, other.m) && are_equal(v, other.v) &&
               are_equal(gradient, other.gradient);
    }

    Floats p, m, v, gradient;
};

}  // namespace dedloc::tests
