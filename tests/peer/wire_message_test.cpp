#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/wire/history.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/message.hpp"
#include "peer/wire/message_codec.hpp"
#include "tests/peer/wire_samples.hpp"

using namespace dedloc;
using namespace dedloc::tests;
using namespace dedloc::wire;

namespace {

constexpr std::size_t kBodies = std::variant_size_v<Body>;

Message message_with(std::uint64_t seed, std::size_t body, std::size_t most = 12) {
    WireSamples samples{seed};
    return samples.message(samples.body(body, most), test_key());
}

/// What a sender makes that asks no bound of itself.
Buffer signed_frame(const Message& message, const KeyPair& key) {
    Buffer frame = pack(message, kSignatureBytes);
    const Signature signature = key.sign(std::span{frame}.subspan(kSignatureBytes));
    std::copy(signature.begin(), signature.end(), frame.begin());
    return frame;
}

}  // namespace

TEST_CASE("every message survives the wire", "[wire][property]") {
    for (std::size_t body = 0; body < kBodies; ++body) {
        for (std::uint64_t seed = 0; seed < 40; ++seed) {
            const Message message = message_with(seed, body);
            INFO("body " << body << ", seed " << seed);
            REQUIRE(message.body.index() == body);
            const SharedBytes frame = encode(message, test_key());
            const auto decoded = decode(*frame);
            REQUIRE(decoded.has_value());
            REQUIRE(*decoded == message);
            REQUIRE(*encode(*decoded, test_key()) == *frame);
            REQUIRE(body_index(*frame) == body);
        }
    }
}

TEST_CASE("a frame is read wherever it lies in memory", "[wire]") {
    const SharedBytes frame = encode(message_with(1, 10), test_key());
    for (std::size_t shift = 0; shift < 16; ++shift) {
        Buffer shifted(frame->size() + shift);
        std::copy(frame->begin(), frame->end(),
                  shifted.begin() + static_cast<std::ptrdiff_t>(shift));
        REQUIRE(decode(std::span{shifted}.subspan(shift)).has_value());
    }
}

TEST_CASE("any changed bit of a frame is refused", "[wire]") {
    for (std::size_t body = 0; body < kBodies; ++body) {
        const SharedBytes frame = encode(message_with(2, body, 2), test_key());
        for (std::size_t i = 0; i < frame->size(); ++i) {
            Buffer bad = *frame;
            bad[i] ^= std::byte{1} << (i % 8);
            REQUIRE_FALSE(decode(bad).has_value());
        }
    }
}

TEST_CASE("any cut-off frame is refused, whether or not it is signed", "[wire]") {
    for (std::size_t body = 0; body < kBodies; ++body) {
        const SharedBytes frame = encode(message_with(3, body, 2), test_key());
        const auto payload = std::span{*frame}.subspan(kSignatureBytes);
        for (std::size_t length = 0; length < frame->size(); ++length) {
            REQUIRE_FALSE(decode(std::span{*frame}.first(length)).has_value());
        }
        std::size_t read = 0;
        for (std::size_t length = 0; length < payload.size(); ++length) {
            read += decode_unsigned(payload.first(length)).has_value() ? 1 : 0;
        }
        REQUIRE(read <= 8);  // a builder pads the end to its alignment
    }
}

TEST_CASE("a frame signed by another key than it names is refused", "[wire]") {
    for (std::size_t body = 0; body < kBodies; ++body) {
        const Buffer forged = signed_frame(message_with(4, body), test_key(2));
        REQUIRE(decode(forged).reason() == DecodeError::kBadSignature);
    }
}

TEST_CASE("changed bits behind a good signature give another message or a refusal",
          "[wire][property]") {
    Random random{5};
    for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
        Buffer payload = pack(message_with(seed, seed % kBodies, 3));
        for (std::uint64_t flips = 1 + random.below(4); flips > 0; --flips) {
            payload[random.below(payload.size())] ^= std::byte{1} << random.below(8);
        }
        const auto decoded = decode_unsigned(payload);
        if (!decoded) continue;
        const Buffer again = pack(*decoded);
        const auto twice = decode_unsigned(again);
        REQUIRE(twice.has_value());
        REQUIRE(pack(*twice) == again);
    }
}

TEST_CASE("random bytes never become a message", "[wire][property]") {
    Random random{1};
    for (int i = 0; i < 20'000; ++i) {
        Buffer bytes(random.below(300));
        for (std::byte& b : bytes) b = static_cast<std::byte>(random.below(256));
        REQUIRE_FALSE(decode(bytes).has_value());
        REQUIRE_FALSE(decode_unsigned(bytes).has_value());
    }
    REQUIRE(decode(Buffer(kMaxFrameBytes + 1)).reason() == DecodeError::kTooLarge);
    REQUIRE(decode(Buffer(kMaxFrameBytes)).reason() == DecodeError::kMalformed);
    REQUIRE(decode(Buffer(kSignatureBytes)).reason() == DecodeError::kMalformed);
}

TEST_CASE("a plan of a thousand members takes sixty kilobytes", "[wire]") {
    WireSamples samples{6};
    Plan plan;
    samples.make(plan);
    plan.members.clear();
    std::vector<PeerKey> keys(1'000);
    for (PeerKey& key : keys) key = samples.bytes<PeerKey>();
    std::sort(keys.begin(), keys.end());
    for (const PeerKey& key : keys) plan.members.push_back({key, Samples{8}, 55.5, 1, true});
    plan.elements = 17'700'000;
    plan.chunk_elements = kChunkElements;
    plan.ranges.clear();
    plan.reducers.clear();
    const std::uint32_t chunks = 271;
    const auto reducers = std::uint32_t{kMaxReducers};
    for (std::uint32_t i = 0; i < reducers; ++i) {
        const std::uint32_t first = chunks * i / reducers;
        const std::uint32_t last = chunks * (i + 1) / reducers;
        plan.ranges.push_back({PeerIndex{i * 7}, first, last});
        plan.reducers.push_back({PeerIndex{i * 7}, {"203.0.113.197", 41'000}});
    }
    plan.relays.clear();
    for (std::uint32_t i = 0; i < 32; ++i) plan.relays.push_back(i * 7);
    const SharedBytes frame = encode(samples.message(plan, test_key()), test_key());
    std::printf("a plan of 1,000 members and %u reducers: %zu bytes\n", reducers, frame->size());
    REQUIRE(frame->size() <= 60'200);
    REQUIRE(decode(*frame).has_value());
}

TEST_CASE("the largest message of each kind fits a frame", "[wire]") {
    WireSamples samples{7};
    const std::vector<PeerKey> keys = [&] {
        std::vector<PeerKey> all(kMaxMembers);
        for (PeerKey& key : all) key = samples.bytes<PeerKey>();
        std::sort(all.begin(), all.end());
        return all;
    }();
    Plan plan;
    plan.elements = kMaxRanges;
    plan.chunk_elements = 1;
    RoundOffer offer;
    for (const PeerKey& key : keys) {
        plan.members.push_back({key, Samples{0}});
        offer.record.members.push_back({key, Samples{0}});
        if (offer.certificate.votes.size() == kMaxVoters) continue;
        offer.certificate.votes.push_back({.voter = key});
    }
    for (std::uint32_t i = 0; i < kMaxRanges; ++i) plan.ranges.push_back({PeerIndex{0}, i, i + 1});
    for (std::size_t i = 0; i < kMaxReducers; ++i) {
        plan.reducers.push_back(
            {PeerIndex{0}, {"2001:db8:ffff:ffff:ffff:ffff:192.168.100.100", 9}});
        plan.relays.push_back(static_cast<std::uint32_t>(i));
    }
    offer.leaves.resize(kMaxLeaves);
    const StateOffer state{
        .bytes = kMaxLeaves * kLeafBytes, .leaves = offer.leaves, .record = offer.record};
    Chunk chunk;
    chunk.chunk_elements = kChunkElements;
    chunk.elements.resize(kChunkElements);
    Leaf leaf;
    leaf.data.resize(kLeafBytes);
    Commit commit;
    commit.certificate = offer.certificate;
    commit.record = offer.record;
    const std::vector<Body> largest{
        plan, offer, state, chunk, leaf, commit, Relay{Buffer(kMaxRelayedBytes)}};
    for (const Body& body : largest) {
        const Message message = samples.message(body, test_key());
        REQUIRE(decode(*encode(message, test_key())).value() == message);
    }
}

TEST_CASE("a backbone's records survive its files, and no other bytes do", "[wire][property]") {
    const auto survives = [](const auto& value, auto decode_it, std::uint64_t seed) {
        const Buffer bytes = encode(value);
        INFO("seed " << seed);
        REQUIRE(decode_it(bytes) == value);
        REQUIRE_FALSE(decode_it(std::span{bytes}.first(bytes.size() / 2)).has_value());
        REQUIRE_FALSE(decode_it({}).has_value());
        return bytes;
    };
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        WireSamples samples{seed};
        VoterState state;
        SignedGeneration generation;
        Decision decision;
        samples.make(state);
        samples.make(generation);
        samples.make(decision);
        const Buffer a = survives(state, decode_voter_state, seed);
        const Buffer b = survives(generation, decode_generation, seed);
        const Buffer c = survives(decision, decode_decision, seed);
        REQUIRE_FALSE(decode_decision(a).has_value());
        REQUIRE_FALSE(decode_voter_state(b).has_value());
        REQUIRE_FALSE(decode_generation(c).has_value());
    }
}
