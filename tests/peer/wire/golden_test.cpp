// The bytes of every message and record, and what becomes of damaged ones, as digests of a
// thousand samples each. The wire keeps its bytes: a digest below changes only with a new protocol
// version, or if samples.hpp draws other values.
#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/random.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/message.hpp"
#include "peer/wire/message_codec.hpp"
#include "tests/peer/wire/samples.hpp"

using namespace dedloc;
using namespace dedloc::tests;
using namespace dedloc::wire;

namespace {

constexpr std::size_t kBodyKinds = std::variant_size_v<BodyKinds>;
constexpr std::uint64_t kSamples = 1'000;

/// A digest of byte strings and of the places where they end.
class Golden {
  public:
    void add(std::span<const std::byte> bytes) {
        out_.write(static_cast<std::uint64_t>(bytes.size()));
        out_.append(blake2b(bytes).bytes);
    }
    /// A number that bytes cannot be mistaken for.
    void add(DecodeError error) { out_.write(~static_cast<std::uint64_t>(error)); }
    std::string text() && { return blake2b(std::move(out_).finish()).hex().substr(0, 16); }

  private:
    ByteWriter out_;
};

/// A default message of this kind.
Body empty_body(std::size_t kind) {
    return [kind]<std::size_t... I>(std::index_sequence<I...>) {
        Body body;
        ((kind == I ? static_cast<void>(body.emplace<I>()) : void()), ...);
        return body;
    }
    (std::make_index_sequence<kBodyKinds>{});
}

Message sample(std::size_t kind, std::uint64_t seed) {
    WireSamples samples{seed};
    return samples.message(samples.body(kind, 1 + seed % 20), test_key());
}

// One digest for each message, in the order of Body.
constexpr std::array<const char*, kBodyKinds> kBytes{
    "16b81bb18779f235", "56d2e746e9e10cb2", "78d09b9f05cdb313", "3a2f01328bc8ec71",
    "aa8cef406608dd3b", "e5661267c0188180", "c287efbaf8388cad", "07d35583192ff595",
    "5fe88b1ced7eb97f", "6504f519ac33cdad", "02bc2d39f272a715", "dbb78aabbc5c53df",
    "2ff4addedb5edbee", "b384c0dafc196e58", "cef5391074d66684", "3fd31885ee81fc2c",
    "f7e330c962c297ff", "f13c4e72fce209cd", "7f5ec617d6307f15", "be0c5c912336ada4",
    "b13ad178b0c4a89c", "b90cd628fd072b4f", "72df9e33381d7f67", "7b60285e6b046b9b",
    "eba8d7526ad1a176", "6820e5f53416a1b8", "b791c90769189662", "097166a82d1b5400",
    "b14a0d8aea770beb", "6d9bc2807970805b", "dd74c50c306e3d0d", "41115906739ed3bd",
    "6744f4d37c56335c", "4e3274df8f2b1d7f"};
constexpr std::array<const char*, kBodyKinds> kDamaged{
    "66ca5aa051b0d278", "ee05aad632e03e48", "8f7b48f4c6191548", "56f713a61f0b11a7",
    "7e6be1b7c203ae9f", "6ee7c76f47f5b734", "87caf13c16a5b8b8", "e326b599642c0e6b",
    "df7a50789065b9e6", "4021734685a3da34", "15688979be3e2408", "385f2d8bacb1d0e0",
    "c9e89016677c4ea8", "316e3d4772ce73fb", "cb9a2ae45d5a6604", "53ed83247654420e",
    "8e4d670dca110cd6", "5ae205b61f5ab4c5", "a6c0bc0a05b9620d", "eeb77724835e2bff",
    "3ac68c41931fecb2", "4751521e94f73abd", "77e93b41d62b5d73", "2f54d7c2a4cd6196",
    "a5bd9ef4f1bca577", "e460b41e615ac7d3", "01ee6f14dae2c916", "51d7491a5ee466ec",
    "2ba0aa7ab9d05467", "af1b506e0d19f20a", "0e4db42483a7841f", "c8d6c9da78bbb77a",
    "86cf4f6aa5d1f27d", "ada2c614f3e4880d"};

}  // namespace

TEST_CASE("messages have the bytes that they have always had", "[wire][golden]") {
    for (std::size_t kind = 0; kind < kBodyKinds; ++kind) {
        Golden golden;
        Message empty;
        empty.body = empty_body(kind);
        golden.add(*frame_of(empty, nullptr));
        for (std::uint64_t seed = 0; seed < kSamples; ++seed) {
            golden.add(*frame_of(sample(kind, seed), nullptr));
        }
        INFO("kind " << kind);
        CHECK(std::move(golden).text() == kBytes[kind]);
    }
}

TEST_CASE("damaged messages are refused as ever, or read as ever", "[wire][golden]") {
    for (std::size_t kind = 0; kind < kBodyKinds; ++kind) {
        Golden golden;
        Random random{kind};
        for (std::uint64_t seed = 0; seed < kSamples; ++seed) {
            Buffer frame = *frame_of(sample(kind, seed % 50), nullptr);
            for (std::uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
                const std::size_t place = kFormBytes + random.below(frame.size() - kFormBytes);
                frame[place] ^= std::byte{1} << random.below(8);
            }
            const auto decoded = decode_unverified(frame);
            if (decoded) golden.add(*frame_of(*decoded, nullptr));
            if (!decoded) golden.add(decoded.reason());
        }
        INFO("kind " << kind);
        CHECK(std::move(golden).text() == kDamaged[kind]);
    }
}

TEST_CASE("plans and records have the bytes that they have always had", "[wire][golden]") {
    Golden plans;
    Golden states;
    Golden generations;
    Golden decisions;
    plans.add(pack(Plan{}));
    states.add(pack(VoterState{}));
    generations.add(pack(SignedGeneration{}));
    decisions.add(pack(Decision{}));
    for (std::uint64_t seed = 0; seed < kSamples; ++seed) {
        WireSamples samples{seed};
        const auto made = [&](auto value) {
            samples.make(value);
            return pack(value);
        };
        plans.add(made(Plan{}));
        states.add(made(VoterState{}));
        generations.add(made(SignedGeneration{}));
        decisions.add(made(Decision{}));
    }
    CHECK(std::move(plans).text() == "02d46f49d8e26c48");
    CHECK(std::move(states).text() == "6480f68e2444cf3d");
    CHECK(std::move(generations).text() == "b52a27533ac1451f");
    CHECK(std::move(decisions).text() == "65e23e6aae82af2c");
}
