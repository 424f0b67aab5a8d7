#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/error.hpp"
#include "peer/base/random.hpp"
#include "peer/base/result.hpp"
#include "peer/base/units.hpp"
#include "tests/kernels/aborts.hpp"

namespace dedloc {
namespace {

template <std::size_t N>
std::array<std::byte, N> from_text(const std::string& hex) {
    std::array<std::byte, N> bytes;
    REQUIRE(from_hex(hex, bytes));
    return bytes;
}

std::vector<std::uint64_t> draw(Random random, std::size_t count) {
    std::vector<std::uint64_t> numbers(count);
    std::generate(numbers.begin(), numbers.end(), [&] { return random.next(); });
    return numbers;
}

template <class A, class B>
concept Adds = requires(A a, B b) {
    a + b;
};

}  // namespace

TEST_CASE("a unit mixes only with its own kind", "[base]") {
    STATIC_REQUIRE(Adds<Samples, Samples>);
    STATIC_REQUIRE_FALSE(Adds<Samples, Bytes>);
    STATIC_REQUIRE_FALSE(Adds<Samples, int>);
    STATIC_REQUIRE_FALSE(std::is_convertible_v<int, Samples>);
    STATIC_REQUIRE_FALSE(std::is_convertible_v<Samples, std::uint64_t>);
    STATIC_REQUIRE(sizeof(PeerIndex) == 4);

    Samples samples{3};
    samples += Samples{4};
    CHECK(samples == Samples{7});
    CHECK(samples - Samples{7} == Samples{});
    CHECK(StepIndex{7}.next() == StepIndex{8});
    CHECK(StepIndex{7} < StepIndex{8});
    CHECK(std::unordered_set<LinkId>{LinkId{1}, LinkId{1}, LinkId{2}}.size() == 2);
}

TEST_CASE("a failed check aborts with its place and its values", "[base]") {
    const std::string said = tests::abort_message([] {
        Samples few{3};
        few -= Samples{4};
    });
    CHECK(said.find("units.hpp:") != std::string::npos);
    CHECK(said.find("a difference is not negative [3] [4]") != std::string::npos);
    CHECK(tests::abort_message([] { DEDLOC_CHECK(1 + 1 == 2, "arithmetic"); }).empty());
    const Result<int, int> bad{Failure{3}};
    CHECK(tests::abort_message([&] { static_cast<void>(bad.value()); }) != "");
}

TEST_CASE("a bandwidth of 0 is unknown where it is a plain number", "[base]") {
    CHECK(known_bandwidth(0) == std::nullopt);
    CHECK(known_bandwidth(1) == Bandwidth{1});
}

TEST_CASE("a result is a value or a reason", "[base]") {
    enum class Reason { kTruncated, kUnknown };
    const Result<std::string, Reason> good{std::string{"text"}};
    REQUIRE(good);
    CHECK(good.value() == "text");
    CHECK(good->size() == 4);

    const Result<std::string, Reason> bad{Failure{Reason::kUnknown}};
    REQUIRE_FALSE(bad);
    CHECK(bad.reason() == Reason::kUnknown);

    const Result<int, int> same{Failure{3}};
    REQUIRE_FALSE(same.has_value());
    CHECK(same.reason() == 3);
}

TEST_CASE("the value of a temporary result outlives the result", "[base]") {
    const auto make = [] { return Result<std::unique_ptr<int>, int>{std::make_unique<int>(5)}; };
    const auto& taken = make().value();
    CHECK(*taken == 5);
    const auto also_taken = *make();
    CHECK(*also_taken == 5);
}

TEST_CASE("Philox reproduces the published test vectors", "[base]") {
    // Known answers of Random123 (Salmon et al.), philox4x32 with 10 rounds.
    using Block = std::array<std::uint32_t, 4>;
    CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) ==
          Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    CHECK(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}) ==
          Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
          Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("equal seeds give equal numbers and a copy continues from the same position", "[base]") {
    CHECK(draw(Random{7}, 100) == draw(Random{7}, 100));
    CHECK(draw(Random{7}, 100) != draw(Random{8}, 100));
    CHECK(draw(Random{7}, 100) != draw(Random{7, 1}, 100));
    Random random{7};
    random.next();
    const Random copy = random;
    CHECK(draw(random, 9) == draw(copy, 9));
    // The stream consists of the blocks 0, 1, 2 …, low words first.
    const auto block = philox4x32({0, 0, 0, 0}, {7, 0});
    CHECK(Random{7}.next() == (std::uint64_t{block[1]} << 32 | block[0]));
}

TEST_CASE("split generators share no number", "[base]") {
    const Random parent{42};
    std::set<std::uint64_t> seen;
    std::size_t drawn = 0;
    const auto add = [&](const Random& random) {
        for (const std::uint64_t number : draw(random, 200)) seen.insert(number);
        drawn += 200;
    };
    add(parent);
    for (std::uint64_t label = 0; label < 100; ++label) add(parent.split(label));
    for (std::uint64_t label = 0; label < 100; ++label) add(parent.split(0).split(label));
    CHECK(seen.size() == drawn);
}

TEST_CASE("split depends on the label and not on the position", "[base]") {
    Random parent{42};
    const auto before = draw(parent.split(5), 10);
    parent.next();
    CHECK(draw(parent.split(5), 10) == before);
    CHECK(draw(parent.split(6), 10) != before);
}

TEST_CASE("generators with neighbouring labels are not correlated", "[base]") {
    // Two independent numbers agree in 32 of 64 bits on average. The standard deviation of the mean
    // of 1000 pairs is 4 / √1000.
    const Random parent{1};
    double agreeing = 0;
    for (std::uint64_t label = 0; label < 1000; ++label) {
        const std::uint64_t difference =
            parent.split(label).next() ^ parent.split(label + 1).next();
        agreeing += 64 - std::popcount(difference);
    }
    CHECK(std::abs(agreeing / 1000 - 32) < 5 * 4 / std::sqrt(1000.0));
}

TEST_CASE("below is uniform also if the bound does not divide 2^64", "[base]") {
    Random random{3};
    CHECK(random.below(1) == 0);
    // A bound of 3 · 2⁶²: a plain remainder would give the lowest third half of the time.
    const std::uint64_t bound = std::uint64_t{3} << 62;
    std::size_t low = 0;
    constexpr std::size_t kDraws = 30'000;
    for (std::size_t i = 0; i < kDraws; ++i) {
        const std::uint64_t x = random.below(bound);
        REQUIRE(x < bound);
        if (x < bound / 3) ++low;
    }
    CHECK(std::abs(static_cast<double>(low) - kDraws / 3.0) < 5 * std::sqrt(kDraws * 2.0 / 9.0));

    std::array<std::size_t, 6> faces{};
    for (std::size_t i = 0; i < kDraws; ++i) ++faces.at(random.below(6));
    for (const std::size_t count : faces) {
        CHECK(std::abs(static_cast<double>(count) - kDraws / 6.0) <
              5 * std::sqrt(kDraws * 5.0 / 36.0));
    }
}

TEST_CASE("uniform and near-normal numbers have the expected moments", "[base]") {
    Random random{9};
    constexpr std::size_t kDraws = 100'000;
    double mean = 0, normal_mean = 0, normal_square = 0;
    for (std::size_t i = 0; i < kDraws; ++i) {
        const double u = random.uniform();
        REQUIRE((u >= 0 && u < 1));
        REQUIRE(std::ldexp(u, 53) == std::floor(std::ldexp(u, 53)));
        mean += u / kDraws;
        const double x = random.near_normal();
        REQUIRE(std::abs(x) <= 6);
        normal_mean += x / kDraws;
        normal_square += x * x / kDraws;
    }
    const double five_sigma = 5 / std::sqrt(static_cast<double>(kDraws));
    CHECK(std::abs(mean - 0.5) < five_sigma * std::sqrt(1.0 / 12));
    CHECK(std::abs(normal_mean) < five_sigma);
    CHECK(std::abs(normal_square - 1) < five_sigma * std::sqrt(2.0));
}

TEST_CASE("a byte reader reads what a writer wrote and nothing past the end", "[base]") {
    ByteWriter writer;
    writer.write(std::uint32_t{0x01020304});
    writer.append({});
    writer.append(bytes_of("ab"));
    writer.write(1.5f);
    const Buffer bytes = std::move(writer).finish();
    REQUIRE(bytes.size() == 10);
    CHECK(bytes[0] == std::byte{4});  // little-endian

    ByteReader reader{bytes};
    CHECK(reader.read<std::uint32_t>() == 0x01020304u);
    const auto text = reader.take(2);
    REQUIRE(text);
    CHECK(std::equal(text->begin(), text->end(), bytes_of("ab").begin()));
    CHECK(reader.read<float>() == 1.5f);
    CHECK(reader.remaining() == 0);
    CHECK(reader.take(0).has_value());
    CHECK_FALSE(reader.read<std::uint8_t>());
}

TEST_CASE("after a read past the end every read returns nothing", "[base]") {
    const Buffer bytes(3);
    ByteReader reader{bytes};
    CHECK_FALSE(reader.read<std::uint32_t>());
    CHECK_FALSE(reader.read<std::uint8_t>());
    CHECK_FALSE(reader.take(0));
    CHECK(reader.remaining() == 0);
    ByteReader greedy{bytes};
    CHECK_FALSE(greedy.take(std::numeric_limits<std::size_t>::max()));
}

TEST_CASE("hex conversion accepts exactly the right number of digits", "[base]") {
    std::array<std::byte, 256> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::byte{static_cast<std::uint8_t>(i)};
    const std::string text = to_hex(all);
    CHECK(text.substr(0, 8) == "00010203");
    CHECK(text.substr(text.size() - 4) == "feff");
    CHECK(from_text<256>(text) == all);

    std::array<std::byte, 2> two;
    CHECK(from_hex("aBCd", two));
    CHECK(to_hex(two) == "abcd");
    for (const char* bad : {"", "abc", "abcde", "abcdef", "abcg", "ab d", " abc", "0xab"}) {
        INFO(bad);
        CHECK_FALSE(from_hex(bad, two));
    }
    CHECK_FALSE(from_hex(std::string_view{"ab\0d", 4}, two));
    CHECK(to_hex({}) == "");
    CHECK(from_hex("", {}));
}

TEST_CASE("BLAKE2b gives the known digests", "[base]") {
    // Computed by another implementation of RFC 7693: Python's hashlib.blake2b(...,
    // digest_size=32).
    CHECK(blake2b({}).hex() == "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
    CHECK(blake2b(bytes_of("abc")).hex() ==
          "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
    std::array<std::byte, 256> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::byte{static_cast<std::uint8_t>(i)};
    CHECK(blake2b(all).hex() == "39a7eb9fedc19aabc83425c6755dd90e6f9d0c804964a1f4aaeea3b9fb599835");
    CHECK(blake2b(all).brief() == "39a7eb9f");

    Digest parsed;
    CHECK(Digest::parse(blake2b(all).hex(), parsed));
    CHECK(parsed == blake2b(all));
    CHECK_FALSE(Digest::parse("39a7", parsed));
}

TEST_CASE("digests are ordered byte by byte, and differ if one byte does", "[base]") {
    const Digest zero;
    CHECK(zero == Digest{});
    for (std::size_t i = 0; i < zero.bytes.size(); ++i) {
        Digest one;
        one.bytes[i] = std::byte{0xFF};
        CHECK(one != zero);
        CHECK(zero < one);
        if (i == 0) continue;
        Digest larger;
        larger.bytes[i - 1] = std::byte{1};
        CHECK(one < larger);
    }
}

TEST_CASE("signatures match the test vectors of RFC 8032", "[base]") {
    // Section 7.1, test 2.
    const auto seed =
        from_text<32>("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
    const KeyPair keys = KeyPair::from_seed(seed);
    CHECK(keys.public_key().hex() ==
          "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
    CHECK(keys.seed() == seed);
    const std::array message{std::byte{0x72}};
    const Signature signature = keys.sign(message);
    CHECK(to_hex(signature) ==
          "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
          "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
    CHECK(verify(keys.public_key(), message, signature));
}

TEST_CASE("a signature is valid for one key and one text only, simulated or not", "[base]") {
    const KeyPair earlier = KeyPair::generate();
    const Signature real = earlier.sign(bytes_of("a ticket"));
    const bool is_simulated = GENERATE(false, true);
    std::optional<SimulatedSignatures> simulation;
    if (is_simulated) simulation.emplace();
    const KeyPair keys = KeyPair::generate();
    const KeyPair others = KeyPair::generate();
    REQUIRE(keys.public_key() != others.public_key());
    const auto text = bytes_of("a receipt");
    const Signature signature = keys.sign(text);
    CHECK(verify(keys.public_key(), text, signature));
    CHECK_FALSE(verify(others.public_key(), text, signature));
    CHECK_FALSE(verify(keys.public_key(), bytes_of("a receipt "), signature));
    CHECK_FALSE(verify(keys.public_key(), {}, signature));
    CHECK_FALSE(verify(PeerKey{}, text, signature));
    for (std::size_t bit = 0; bit < signature.size() * 8; ++bit) {
        Signature changed = signature;
        changed[bit / 8] ^= std::byte{1} << (bit % 8);
        REQUIRE_FALSE(verify(keys.public_key(), text, changed));
    }
    CHECK(verify(keys.public_key(), text, signature));
    CHECK(KeyPair::from_seed(keys.seed()).sign(text) == signature);
    CHECK(verify(earlier.public_key(), bytes_of("a ticket"), real));
    CHECK((earlier.sign(bytes_of("a ticket")) == real) == !is_simulated);
    CHECK(verify(earlier.public_key(), bytes_of("a ticket"), real));
    // A simulated one is valid nowhere else.
    bool is_valid_elsewhere = false;
    std::thread{[&] { is_valid_elsewhere = verify(keys.public_key(), text, signature); }}.join();
    CHECK(is_valid_elsewhere == !is_simulated);
    simulation.reset();
    CHECK(verify(keys.public_key(), text, signature) == !is_simulated);
}

}  // namespace dedloc
