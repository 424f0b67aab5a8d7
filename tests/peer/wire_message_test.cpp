#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/message.hpp"

using namespace dedloc;
using namespace dedloc::wire;

namespace {

KeyPair test_key(std::uint8_t n = 1) {
    std::array<std::byte, 32> seed{};
    seed[0] = std::byte{n};
    return KeyPair::from_seed(seed);
}

template <class T>
T filled(std::uint8_t n) {
    T value;
    value.bytes.fill(std::byte{n});
    return value;
}

Message message_with(Body body) {
    return {.run = filled<RunId>(9),
            .generation = 3,
            .step = StepIndex{17},
            .sequence = 5,
            .sender = test_key().public_key(),
            .body = std::move(body)};
}

Plan a_plan() {
    return {.attempt = 2,
            .members = {{filled<PeerKey>(1), {"10.0.0.1", 4000}, Samples{8}},
                        {filled<PeerKey>(2), {"::1", 0}, Samples{0}}},
            .boundaries = {0, 70'000, 70'000}};
}

std::vector<Body> one_of_each() {
    const CommitRecord record{.step = StepIndex{17},
                              .attempt = 1,
                              .members = {{filled<PeerKey>(1), Samples{8}, 55.5}},
                              .average = filled<Digest>(4),
                              .previous_state = filled<Digest>(5),
                              .scalars = {0x3c000000u, 0x3f800000u}};
    return {Challenge{filled<Digest>(1)},
            Hello{kProtocolVersion, Role::kBackbone, 4'000, "wu_1_0", filled<Digest>(2)},
            Heartbeat{true, filled<Digest>(3), Samples{24}, 12.5, 1e6},
            Call{0},
            Join{1, Samples{24}, 100.25, true, filled<Digest>(3)},
            a_plan(),
            Cancel{1},
            Chunk{1, Phase::kGather, PartIndex{3}, 65'536, {1.0f, -0.0f, 1e-42f}},
            Ready{1, filled<Digest>(4)},
            Commit{record},
            StateQuery{},
            StateOffer{filled<Digest>(5), 12'000},
            StateRequest{262'144},
            StateChunk{0, Buffer(100, std::byte{7})},
            Leave{},
            Finished{filled<Digest>(6)},
            Refusal{"no"}};
}

DecodeError reason_of(std::span<const std::byte> frame) {
    return decode(frame).reason();
}

/// Signed by the sender, but with a body that no honest encoder makes.
DecodeError reason_of(Body body) {
    return reason_of(*encode(message_with(std::move(body)), test_key()));
}

}  // namespace

TEST_CASE("every message survives the wire", "[wire]") {
    const auto bodies = one_of_each();
    REQUIRE(bodies.size() == std::variant_size_v<Body>);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
        REQUIRE(bodies[i].index() == i);
        const Message message = message_with(bodies[i]);
        const auto decoded = decode(*encode(message, test_key()));
        INFO("body " << i);
        REQUIRE(decoded.has_value());
        REQUIRE(*decoded == message);
    }
}

TEST_CASE("any changed byte of a frame is refused", "[wire]") {
    for (const Body& body : one_of_each()) {
        const SharedBytes frame = encode(message_with(body), test_key());
        for (std::size_t i = 0; i < frame->size(); ++i) {
            Buffer bad = *frame;
            bad[i] ^= std::byte{0x10};
            REQUIRE_FALSE(decode(bad).has_value());
        }
    }
}

TEST_CASE("any cut-off frame is refused", "[wire]") {
    for (const Body& body : one_of_each()) {
        const SharedBytes frame = encode(message_with(body), test_key());
        for (std::size_t length = 0; length < frame->size(); ++length) {
            REQUIRE_FALSE(decode(std::span{*frame}.first(length)).has_value());
        }
    }
}

TEST_CASE("a frame signed by another key than it names is refused", "[wire]") {
    const SharedBytes frame = encode(message_with(Call{1}), test_key());
    Buffer forged = *frame;
    const auto payload = std::span{forged}.subspan(kSignatureBytes);
    const Signature signature = test_key(2).sign(payload);
    std::copy(signature.begin(), signature.end(), forged.begin());
    REQUIRE(reason_of(forged) == DecodeError::kBadSignature);
}

TEST_CASE("fields out of bounds are refused although the signature is good", "[wire]") {
    const auto nan = std::numeric_limits<double>::quiet_NaN();
    REQUIRE(reason_of(Heartbeat{true, {}, Samples{kMaxSamples + 1}, 0, 0}) ==
            DecodeError::kOutOfBounds);
    REQUIRE(reason_of(Heartbeat{true, {}, Samples{0}, nan, 0}) == DecodeError::kOutOfBounds);
    REQUIRE(reason_of(Heartbeat{true, {}, Samples{0}, 0, -1}) == DecodeError::kOutOfBounds);
    REQUIRE(reason_of(Hello{1, Role::kTrainer, 0, std::string(255, 'x'), {}}) ==
            DecodeError::kOutOfBounds);
    REQUIRE(reason_of(Chunk{0, Phase::kScatter, PartIndex{0}, 0, {}}) == DecodeError::kOutOfBounds);
    REQUIRE(reason_of(Chunk{0, Phase::kScatter, PartIndex{0}, 0, FloatVector(65'537)}) ==
            DecodeError::kOutOfBounds);
    REQUIRE(reason_of(Chunk{0, Phase::kScatter, PartIndex{1'024}, 0, {1}}) ==
            DecodeError::kOutOfBounds);
    REQUIRE(reason_of(StateChunk{0, {}}) == DecodeError::kOutOfBounds);
    REQUIRE(reason_of(Refusal{std::string(513, 'x')}) == DecodeError::kOutOfBounds);
    REQUIRE(reason_of(Commit{}) == DecodeError::kOutOfBounds);
    CommitRecord record{.step = {},
                        .attempt = 1,
                        .members = {{filled<PeerKey>(1), Samples{8}, 1.0}},
                        .average = {},
                        .previous_state = {},
                        .scalars = {.learning_rate = 0x7fc00000u, .bias_correction = 0}};
    REQUIRE(reason_of(Commit{record}) == DecodeError::kOutOfBounds);
    record.scalars = {.learning_rate = 0, .bias_correction = 0xbf800000u};
    REQUIRE(reason_of(Commit{record}) == DecodeError::kOutOfBounds);
}

TEST_CASE("a plan must cut the vector in order and name its members in order", "[wire]") {
    const auto refuses = [](auto change) {
        Plan plan = a_plan();
        change(plan);
        return reason_of(plan) == DecodeError::kOutOfBounds;
    };
    REQUIRE(refuses([](Plan& p) { p.boundaries = {0, 5}; }));
    REQUIRE(refuses([](Plan& p) { p.boundaries = {1, 5, 9}; }));
    REQUIRE(refuses([](Plan& p) { p.boundaries = {0, 9, 5}; }));
    REQUIRE(refuses([](Plan& p) { p.boundaries.back() = kMaxElements + 1; }));
    REQUIRE(refuses([](Plan& p) { std::swap(p.members[0], p.members[1]); }));
    REQUIRE(refuses([](Plan& p) { p.members[1].peer = p.members[0].peer; }));
    REQUIRE(refuses([](Plan& p) { p.members[0].endpoint.host.assign(65, 'x'); }));
    REQUIRE(refuses([](Plan& p) {
        p.members.clear();
        p.boundaries = {0};
    }));
}

TEST_CASE("random bytes never become a message", "[wire][property]") {
    Random random{1};
    for (int i = 0; i < 20'000; ++i) {
        Buffer bytes(random.below(300));
        for (std::byte& b : bytes) b = static_cast<std::byte>(random.below(256));
        REQUIRE_FALSE(decode(bytes).has_value());
    }
    REQUIRE(reason_of(Buffer(kMaxFrameBytes + 1)) == DecodeError::kTooLarge);
}
