// A second implementation of the shorter encodings, written for certainty: values as doubles,
// scaled by ldexp and rounded by nearbyint, tables instead of bit tricks. Shares no code with
// kernels/.
#pragma once

#include <cstdint>
#include <vector>

namespace dedloc::tests::slow {

using Floats = std::vector<float>;

double half_value(std::uint16_t bits);
double bfloat16_value(std::uint16_t bits);

/// The bits nearest to x, ties to even; finite values stay finite.
std::uint16_t half_bits(float x);
std::uint16_t bfloat16_bits(float x);

struct Int8 {
    std::vector<std::int8_t> codes;
    std::vector<std::uint8_t> exponents;
    bool operator==(const Int8&) const = default;
};
Int8 to_int8(const Floats& values);
Floats from_int8(const Int8& coded);

}  // namespace dedloc::tests::slow
