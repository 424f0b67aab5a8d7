#include "tests/kernels/slow_codec.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dedloc::tests::slow {
namespace {

/// A binary format with a sign, exponent bits and mantissa bits, as in IEEE 754.
struct Format {
    int exponent_bits;
    int mantissa_bits;

    int bias() const { return (1 << (exponent_bits - 1)) - 1; }

    double value(unsigned bits) const {
        const int mantissa = static_cast<int>(bits) & ((1 << mantissa_bits) - 1);
        const int exponent = (static_cast<int>(bits) >> mantissa_bits) & ((1 << exponent_bits) - 1);
        const double sign = (bits >> (exponent_bits + mantissa_bits) & 1) != 0 ? -1.0 : 1.0;
        if (exponent == (1 << exponent_bits) - 1) {
            return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                                 : std::numeric_limits<double>::quiet_NaN();
        }
        const int whole = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
        return sign * std::ldexp(whole, std::max(exponent, 1) - bias() - mantissa_bits);
    }

    std::uint16_t nearest(float x) const {
        const unsigned sign = std::signbit(x) ? 1u << (exponent_bits + mantissa_bits) : 0u;
        const unsigned infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
        if (std::isnan(x)) {
            return static_cast<std::uint16_t>(sign | infinity | 1u << (mantissa_bits - 1));
        }
        if (std::isinf(x)) return static_cast<std::uint16_t>(sign | infinity);
        const double magnitude = std::fabs(static_cast<double>(x));
        if (magnitude == 0) return static_cast<std::uint16_t>(sign);
        int exponent = 0;
        std::frexp(magnitude, &exponent);  // magnitude < 2^exponent
        const int unit = std::max(exponent - 1, 1 - bias()) - mantissa_bits;
        // Integer units: those of one binade are consecutive, and carry into the next.
        const double units = std::nearbyint(std::ldexp(magnitude, -unit));
        const double binades = unit - (1 - bias() - mantissa_bits);
        const double ordinal = units + binades * (1 << mantissa_bits);
        const double largest = infinity - 1.0;
        return static_cast<std::uint16_t>(sign | static_cast<unsigned>(std::min(ordinal, largest)));
    }
};

constexpr Format kHalf{.exponent_bits = 5, .mantissa_bits = 10};
constexpr Format kBfloat16{.exponent_bits = 8, .mantissa_bits = 7};

/// format.value(bits) for all bits.
std::vector<double> values_of(const Format& format) {
    std::vector<double> values;
    for (unsigned bits = 0; bits < 65'536; ++bits) values.push_back(format.value(bits));
    return values;
}

/// The largest value of a block with each int8 exponent.
std::vector<double> int8_limits() {
    std::vector<double> limits;
    for (int exponent = 0; exponent < 256; ++exponent) {
        limits.push_back(std::ldexp(127.0, exponent - 127));
    }
    return limits;
}

}  // namespace

double half_value(std::uint16_t bits) {
    static const std::vector<double> values = values_of(kHalf);
    return values[bits];
}
double bfloat16_value(std::uint16_t bits) {
    static const std::vector<double> values = values_of(kBfloat16);
    return values[bits];
}
std::uint16_t half_bits(float x) {
    return kHalf.nearest(x);
}
std::uint16_t bfloat16_bits(float x) {
    return kBfloat16.nearest(x);
}

Int8 to_int8(const Floats& values) {
    static const std::vector<double> limits = int8_limits();
    Int8 coded;
    for (std::size_t first = 0; first < values.size(); first += 64) {
        const std::size_t end = std::min(values.size(), first + 64);
        double largest = 0;
        for (std::size_t i = first; i < end; ++i) {
            largest = std::max(largest, std::fabs(double{values[i]}));
        }
        std::uint8_t exponent = 1;
        while (exponent < 248 && limits[exponent] < largest) ++exponent;
        coded.exponents.push_back(exponent);
        const double scale = std::ldexp(1.0, 127 - exponent);  // any product is exact
        for (std::size_t i = first; i < end; ++i) {
            const double code = std::nearbyint(values[i] * scale);
            coded.codes.push_back(static_cast<std::int8_t>(std::clamp(code, -127.0, 127.0)));
        }
    }
    return coded;
}

Floats from_int8(const Int8& coded) {
    Floats values;
    for (std::size_t i = 0; i < coded.codes.size(); ++i) {
        values.push_back(static_cast<float>(
            std::ldexp(static_cast<double>(coded.codes[i]), coded.exponents[i / 64] - 127)));
    }
    return values;
}

}  // namespace dedloc::tests::slow
