// Leaves of averages in the codec in which they travelled.
#include "peer/state/packed_average.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "peer/base/random.hpp"
#include "tests/kernels/encodings.hpp"

using namespace dedloc;
using namespace dedloc::state;

namespace {

/// Numbers that this codec can hold, with magnitudes over its whole range, zeros of both signs, and
/// subnormal halves.
FloatVector rounded(Codec codec, std::size_t count, Random& random) {
    FloatVector values(count);
    const int centre = static_cast<int>(random.below(80)) - 50;
    for (float& value : values) {
        const int power = centre - static_cast<int>(random.below(30));
        const double sign = random.below(2) == 0 ? 1 : -1;
        value = static_cast<float>(std::ldexp(sign * random.uniform(), power));
        if (random.below(20) == 0) value = std::copysign(0.0F, value);
    }
    if (codec == Codec::kFp16) {
        const float scale = std::ldexp(1.0F, centre - 14);
        for (float& value : values) value /= scale;
        std::ranges::copy(tests::decoded(tests::Encoding::kHalf, values), values.begin());
        for (float& value : values) value *= scale;
    } else if (codec == Codec::kBf16) {
        std::ranges::copy(tests::decoded(tests::Encoding::kBfloat16, values), values.begin());
    } else if (codec == Codec::kInt8) {
        std::ranges::copy(tests::decoded(tests::Encoding::kInt8, values), values.begin());
    }
    return values;
}

bool are_same(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

TEST_CASE("an average that a codec has rounded is packed without loss", "[state]") {
    Random random{1};
    for (const Codec codec : {Codec::kFp16, Codec::kBf16, Codec::kInt8}) {
        for (const std::size_t count : {1u, 63u, 64u, 65u, 1'000u, 65'536u}) {
            for (int repeat = 0; repeat < 10; ++repeat) {
                INFO(kCodecNames[static_cast<std::size_t>(codec)] << ", " << count << " elements");
                const FloatVector values = rounded(codec, count, random);
                const auto packed = pack(codec, values);
                REQUIRE(packed);
                CHECK(packed->size() == packed_bytes(codec, count));
                FloatVector restored(count);
                REQUIRE(unpack(codec, *packed, restored));
                CHECK(are_same(restored, values));
            }
        }
    }
}

TEST_CASE("numbers that a codec cannot hold are not packed", "[state]") {
    Random random{2};
    for (const Codec codec : {Codec::kFp16, Codec::kBf16, Codec::kInt8}) {
        FloatVector values = rounded(codec, 256, random);
        values[7] = std::nextafter(values[100] * 1.37F, 1.0F);
        CHECK_FALSE(pack(codec, values));
        values[7] = std::numeric_limits<float>::infinity();
        const auto packed = pack(codec, values);
        if (packed) {  // bf16 holds it
            FloatVector restored(values.size());
            REQUIRE(unpack(codec, *packed, restored));
            CHECK(are_same(restored, values));
        }
    }
    CHECK_FALSE(pack(Codec::kFp32, FloatVector(4)));
    CHECK_FALSE(pack(Codec::kFp16, FloatVector{}));
}

TEST_CASE("any bytes of the right size are unpacked, others are refused", "[state]") {
    Random random{3};
    for (const Codec codec : {Codec::kFp16, Codec::kBf16, Codec::kInt8}) {
        FloatVector values(130);
        for (int repeat = 0; repeat < 50; ++repeat) {
            Buffer bytes(packed_bytes(codec, values.size()));
            for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
            CHECK(unpack(codec, bytes, values));
            bytes.push_back({});
            CHECK_FALSE(unpack(codec, bytes, values));
            bytes.resize(bytes.size() - 2);
            CHECK_FALSE(unpack(codec, bytes, values));
        }
    }
    FloatVector values(4);
    CHECK_FALSE(unpack(Codec::kFp32, Buffer(16), values));
}

TEST_CASE("a leaf's packed size is never its size in floats", "[state]") {
    for (const Codec codec : {Codec::kFp16, Codec::kBf16, Codec::kInt8}) {
        for (std::uint64_t count = 1; count <= 65'536; ++count) {
            REQUIRE(packed_bytes(codec, count) < 4 * count);
        }
    }
}

TEST_CASE("a state is worth as many rounds as its bytes are averages, and two", "[state]") {
    RoundRules rules;
    rules.elements = 1'000'000;
    rules.state_vectors = 3;
    const auto rounds = [&](Codec codec) {
        rules.codec = codec;
        return rounds_of_a_state(rules);
    };
    CHECK(rounds(Codec::kFp32) == 5);
    CHECK(rounds(Codec::kFp16) == 8);
    CHECK(rounds(Codec::kBf16) == 8);
    CHECK(rounds(Codec::kInt8) == 14);
}
