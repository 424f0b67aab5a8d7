#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/wire/history.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/message.hpp"
#include "peer/wire/message_codec.hpp"
#include "tests/peer/wire/samples.hpp"

using namespace dedloc;
using namespace dedloc::tests;
using namespace dedloc::wire;

namespace {

constexpr std::size_t kBodies = std::variant_size_v<BodyKinds>;

Message message_with(std::uint64_t seed, std::size_t body, std::size_t max = 12) {
    WireSamples samples{seed};
    return samples.message(samples.body(body, max), test_key());
}

constexpr auto kKinds = {LinkKind::kUnproven, LinkKind::kProven};

SharedBytes signed_frame(const Message& message) {
    return encode(message, test_key(), LinkKind::kUnproven).whole();
}

bool is_signed(const Buffer& frame) {
    return frame.size() - payload_of(frame).size() == kFormBytes + kSignatureBytes;
}

/// As many codes, all possible ones, with all possible exponents.
Int8Blocks blocks_of(std::size_t count) {
    std::vector<std::int8_t> codes(count);
    for (std::size_t i = 0; i < count; ++i) {
        codes[i] = static_cast<std::int8_t>(static_cast<int>(i % 255) - kMaxInt8Code);
    }
    std::vector<std::uint8_t> exponents(count / kInt8BlockElements);
    for (std::size_t i = 0; i < exponents.size(); ++i) {
        exponents[i] = static_cast<std::uint8_t>(kMinInt8Exponent + i % kMaxInt8Exponent);
    }
    return {.codes = std::move(codes), .exponents = std::move(exponents)};
}

}  // namespace

TEST_CASE("every message is decoded as it was encoded", "[wire][property]") {
    for (std::size_t body = 0; body < kBodies; ++body) {
        for (std::uint64_t seed = 0; seed < 40; ++seed) {
            const Message message = message_with(seed, body);
            INFO("body " << body << ", seed " << seed);
            REQUIRE(message.body.index() == body);
            for (const LinkKind link : kKinds) {
                const SharedBytes frame = encode(message, test_key(), link).whole();
                const auto decoded = decode(*frame, link);
                REQUIRE(decoded.has_value());
                REQUIRE(*decoded == message);
                REQUIRE(*encode(*decoded, test_key(), link).whole() == *frame);
                REQUIRE(body_index(*frame) == body);
                REQUIRE(*decode_unverified(*frame) == message);
            }
        }
    }
}

TEST_CASE("on a proven link only messages that may be relayed are signed", "[wire]") {
    for (std::size_t body = 0; body < kBodies; ++body) {
        const Message message = message_with(9, body);
        const bool is_relayed = std::holds_alternative<Plan>(message.body) ||
                                std::holds_alternative<PlanChange>(message.body) ||
                                std::holds_alternative<Commit>(message.body);
        INFO("body " << body);
        REQUIRE(may_be_relayed(message.body) == is_relayed);
        REQUIRE(is_signed(*encode(message, test_key(), LinkKind::kUnproven).whole()));
        REQUIRE(is_signed(*encode(message, test_key(), LinkKind::kProven).whole()) == is_relayed);

        const SharedBytes bare = frame_of(message, nullptr);
        REQUIRE(decode(*bare, LinkKind::kUnproven).reason() == DecodeError::kUnsigned);
        const auto taken = decode(*bare, LinkKind::kProven);
        REQUIRE(taken.has_value() != is_relayed);
        if (is_relayed) REQUIRE(taken.reason() == DecodeError::kUnsigned);
        // A signature must be valid even if it is not needed.
        REQUIRE(decode(*signed_frame(message), LinkKind::kProven).has_value());
        const KeyPair other = test_key(2);
        const SharedBytes forged = frame_of(message, &other);
        REQUIRE(decode(*forged, LinkKind::kProven).reason() == DecodeError::kBadSignature);
    }
}

// Messages before both ends know each other's versions: their bytes are the same in all versions.
TEST_CASE("peers with different protocol versions can read each other's handshake", "[wire]") {
    RunId run;
    run.bytes.fill(std::byte{9});
    Digest nonce;
    nonce.bytes.fill(std::byte{3});
    const std::vector<std::pair<Body, std::string>> said{
        {Challenge{nonce}, "a4d008161f2a9bf352494c5699155de1e893085ebf39c85be4cb08e8f447ce2e"},
        {Hello{.oldest_protocol = 3,
               .newest_protocol = 5,
               .session = 7,
               .role = Role::kBackbone,
               .receives = true,
               .listening_port = 4'000,
               .result_name = "tiny_0_1",
               .nonce = nonce},
         "8473d9df2ca97bb91c798df93411a1ed1ada45bc43a01d2518c394231912433e"},
        {Leave{}, "9c5dd121e467aa5b64b5419912168e6f1b7d544f2abb241051b69357dc72b137"},
        {Refusal{"speaks versions 3 to 3, we 4 to 4"},
         "4af1a472ee93f4042861a334d94dbb40c9ab1d754e49fa6c08a6d4862d7cd61e"}};
    for (std::size_t i = 0; i < said.size(); ++i) {
        const auto& [body, digest] = said[i];
        const Message message{.run = run,
                              .generation = 1,
                              .step = StepIndex{2},
                              .sequence = 3,
                              .sender = test_key().public_key(),
                              .body = body};
        const SharedBytes frame = frame_of(message, nullptr);
        INFO("body " << i);
        CHECK(body.index() == i);
        CHECK(decode_unverified(*frame).value() == message);
        CHECK(blake2b(*frame).hex() == digest);
    }
}

TEST_CASE("a frame of another form is refused", "[wire]") {
    const SharedBytes frame = encode(message_with(1, 0), test_key(), LinkKind::kProven).whole();
    for (std::size_t i = 0; i < kFormBytes; ++i) {
        for (unsigned value = 0; value < 256; ++value) {
            Buffer bad = *frame;
            if (bad[i] == static_cast<std::byte>(value)) continue;
            bad[i] = static_cast<std::byte>(value);
            REQUIRE_FALSE(decode(bad, LinkKind::kProven).has_value());
        }
    }
}

TEST_CASE("a chunk's elements stay in their frame unless it is much larger", "[wire]") {
    WireSamples samples{8};
    for (const std::size_t count : {std::size_t{1}, std::size_t{16}, kChunkElements}) {
        FloatVector elements(count);
        for (std::size_t i = 0; i < count; ++i) elements[i] = static_cast<float>(i);
        Chunk chunk;
        chunk.chunk_elements = kChunkElements;
        chunk.elements = elements;
        SharedBytes frame =
            encode(samples.message(chunk, test_key()), test_key(), LinkKind::kProven).whole();
        const auto* begin = reinterpret_cast<const float*>(frame->data());
        const auto* end = reinterpret_cast<const float*>(frame->data() + frame->size());
        const auto message = decode(frame, LinkKind::kProven).value();
        frame.reset();  // the elements keep the bytes alive
        const auto& read = std::get<SharedSlice<float>>(std::get<Chunk>(message.body).elements);
        REQUIRE(read.copy() == elements);
        const float* first = read.values().data();
        const bool is_inside = std::greater_equal<>{}(first, begin) && std::less<>{}(first, end);
        REQUIRE(is_inside == (count == kChunkElements));
    }
}

TEST_CASE("the elements of an unsigned chunk are sent without a copy", "[wire]") {
    WireSamples samples{8};
    for (const std::size_t count : {std::size_t{1}, std::size_t{5}, kChunkElements}) {
        auto sum = std::make_shared<FloatVector>(count + 3, 0.5F);
        Chunk chunk;
        chunk.chunk_elements = kChunkElements;
        chunk.elements = SharedSlice<float>{sum, std::span<const float>{*sum}.subspan(3)};
        const Message message = samples.message(chunk, test_key());
        const Frame frame = encode(message, test_key(), LinkKind::kProven);
        REQUIRE(frame.has_bulk());
        CHECK(frame.pieces()[1].data() == std::as_bytes(std::span{*sum}.subspan(3)).data());
        CHECK(frame.pieces()[1].size() == count * sizeof(float));
        CHECK(frame.pieces()[0].size() + frame.pieces()[2].size() < kChunkOverheadBytes);
        CHECK(*frame.whole() == *frame_of(message, nullptr));
        const std::weak_ptr<FloatVector> held = std::exchange(sum, nullptr);
        chunk = {};
        CHECK_FALSE(held.expired());  // the message and the frame hold it
        CHECK_FALSE(encode(message, test_key(), LinkKind::kUnproven).has_bulk());
    }
}

TEST_CASE("halves stay in their frame and have half the size", "[wire]") {
    WireSamples samples{8};
    std::vector<std::uint16_t> bits(kChunkElements);
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
    Chunk chunk;
    chunk.chunk_elements = kChunkElements;
    chunk.elements = Halves{.bits = bits, .exponent = 120};
    SharedBytes frame =
        encode(samples.message(chunk, test_key()), test_key(), LinkKind::kProven).whole();
    REQUIRE(frame->size() < kChunkElements * sizeof(std::uint16_t) + kChunkOverheadBytes);
    const auto* begin = reinterpret_cast<const std::uint16_t*>(frame->data());
    const auto* end = reinterpret_cast<const std::uint16_t*>(frame->data() + frame->size());
    const auto message = decode(frame, LinkKind::kProven).value();
    frame.reset();
    const auto& read = std::get<Halves>(std::get<Chunk>(message.body).elements);
    REQUIRE(read.exponent == 120);
    REQUIRE(read.bits.copy() == bits);
    const std::uint16_t* first = read.bits.values().data();
    REQUIRE((std::greater_equal<>{}(first, begin) && std::less<>{}(first, end)));
}

TEST_CASE("bfloats and int8 codes stay in their frame", "[wire]") {
    WireSamples samples{8};
    std::vector<std::uint16_t> bits(kChunkElements);
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
    const auto is_inside = [](const SharedBytes& frame, const void* numbers) {
        const auto* first = static_cast<const std::byte*>(numbers);
        return std::greater_equal<>{}(first, frame->data()) &&
               std::less<>{}(first, frame->data() + frame->size());
    };
    const auto sent = [&](Elements elements) {
        Chunk chunk;
        chunk.chunk_elements = kChunkElements;
        chunk.elements = std::move(elements);
        return encode(samples.message(chunk, test_key()), test_key(), LinkKind::kProven).whole();
    };
    const SharedBytes frame = sent(Bfloats{.bits = bits});
    const auto message = decode(frame, LinkKind::kProven).value();
    const auto& read = std::get<Bfloats>(std::get<Chunk>(message.body).elements);
    CHECK(read.bits.copy() == bits);
    CHECK(is_inside(frame, read.bits.values().data()));

    const Int8Blocks blocks = blocks_of(kChunkElements);
    const SharedBytes short_frame = sent(blocks);
    CHECK(short_frame->size() < kChunkElements / 64 * 65 + kChunkOverheadBytes);
    const auto short_message = decode(short_frame, LinkKind::kProven).value();
    const auto& codes = std::get<Int8Blocks>(std::get<Chunk>(short_message.body).elements);
    CHECK(codes == blocks);
    CHECK(is_inside(short_frame, codes.codes.values().data()));
}

TEST_CASE("a chunk has the overhead that the planner assumes", "[wire]") {
    WireSamples samples{8};
    const std::vector<std::uint16_t> bits(kChunkElements);
    const std::vector<Elements> all{FloatVector(kChunkElements),
                                    Halves{.bits = bits, .exponent = 127}, Bfloats{.bits = bits},
                                    blocks_of(kChunkElements)};
    for (const Elements& elements : all) {
        Chunk chunk;
        chunk.chunk_elements = kChunkElements;
        chunk.elements = elements;
        const Message message = samples.message(chunk, test_key());
        const std::size_t size = encode(message, test_key(), LinkKind::kProven).size();
        constexpr std::array<std::size_t, kCodecNames.size()> kBlockBytes{256, 128, 128, 65};
        const Codec codec = codec_of(elements);
        const std::size_t numbers =
            kChunkElements / 64 * kBlockBytes[static_cast<std::size_t>(codec)];
        constexpr std::size_t kSealingBytes = 33 + 2 * 17;
        const std::size_t around = size - numbers + kSealingBytes;
        INFO(name_of(codec) << ", around " << around);
        const std::size_t assumed =
            kChunkOverheadBytes + (codec == Codec::kInt8 ? kBlocksOverheadBytes : 0);
        REQUIRE(around <= assumed);
        REQUIRE(around + 16 > assumed);
    }
}

TEST_CASE("a frame is read at any alignment in memory", "[wire]") {
    const SharedBytes frame = signed_frame(message_with(1, 10));
    for (std::size_t shift = 0; shift < 16; ++shift) {
        Buffer shifted(frame->size() + shift);
        std::copy(frame->begin(), frame->end(),
                  shifted.begin() + static_cast<std::ptrdiff_t>(shift));
        const auto bytes = std::span{shifted}.subspan(shift);
        REQUIRE(decode(bytes, LinkKind::kUnproven).has_value());
    }
}

TEST_CASE("a frame with any bit changed is refused", "[wire]") {
    for (std::size_t body = 0; body < kBodies; ++body) {
        const SharedBytes frame = signed_frame(message_with(2, body, 2));
        for (std::size_t i = 0; i < frame->size(); ++i) {
            Buffer bad = *frame;
            bad[i] ^= std::byte{1} << (i % 8);
            for (const LinkKind link : kKinds) REQUIRE_FALSE(decode(bad, link).has_value());
        }
    }
}

TEST_CASE("a frame that is cut off is refused, signed or not", "[wire]") {
    for (std::size_t body = 0; body < kBodies; ++body) {
        const SharedBytes frame = signed_frame(message_with(3, body, 2));
        for (std::size_t length = 0; length < frame->size(); ++length) {
            const auto cut = std::span{*frame}.first(length);
            for (const LinkKind link : kKinds) REQUIRE_FALSE(decode(cut, link).has_value());
        }
        const SharedBytes bare = frame_of(message_with(3, body, 2), nullptr);
        std::size_t read = 0;
        for (std::size_t length = 0; length < bare->size(); ++length) {
            const auto cut = std::span{*bare}.first(length);
            read += decode_unverified(cut).has_value() ? 1 : 0;
        }
        REQUIRE(read <= 8);  // the builder pads the end to its alignment
    }
}

TEST_CASE("a frame that is not signed by the sender it names is refused", "[wire]") {
    for (std::size_t body = 0; body < kBodies; ++body) {
        const KeyPair other = test_key(2);
        const SharedBytes forged = frame_of(message_with(4, body), &other);
        for (const LinkKind link : kKinds) {
            REQUIRE(decode(*forged, link).reason() == DecodeError::kBadSignature);
        }
    }
}

TEST_CASE("changed bits under a valid signature give another message or a refusal",
          "[wire][property]") {
    Random random{5};
    for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
        Buffer frame = *frame_of(message_with(seed, seed % kBodies, 3), nullptr);
        for (std::uint64_t flips = 1 + random.below(4); flips > 0; --flips) {
            const std::size_t place = kFormBytes + random.below(frame.size() - kFormBytes);
            frame[place] ^= std::byte{1} << random.below(8);
        }
        const auto decoded = decode_unverified(frame);
        if (!decoded) continue;
        const SharedBytes again = frame_of(*decoded, nullptr);
        const auto twice = decode_unverified(*again);
        REQUIRE(twice.has_value());
        REQUIRE(*frame_of(*twice, nullptr) == *again);
    }
}

TEST_CASE("random bytes never become a message", "[wire][property]") {
    Random random{1};
    for (int i = 0; i < 20'000; ++i) {
        Buffer bytes(random.below(300));
        for (std::byte& b : bytes) b = static_cast<std::byte>(random.below(256));
        if (!bytes.empty()) bytes.front() = static_cast<std::byte>(random.below(3));
        for (std::size_t k = 1; k < std::min(bytes.size(), kFormBytes); ++k) bytes[k] = {};
        for (const LinkKind link : kKinds) REQUIRE_FALSE(decode(bytes, link).has_value());
        REQUIRE_FALSE(decode_unverified(bytes).has_value());
        REQUIRE_FALSE(body_index(bytes).has_value());
    }
    for (const LinkKind link : kKinds) {
        REQUIRE(decode(Buffer(kMaxFrameBytes + 1), link).reason() == DecodeError::kTooLarge);
        REQUIRE(decode(Buffer(kMaxFrameBytes), link).reason() == DecodeError::kMalformed);
        REQUIRE(decode(Buffer(kSignatureBytes), link).reason() == DecodeError::kMalformed);
        REQUIRE(decode(Buffer{}, link).reason() == DecodeError::kMalformed);
    }
}

TEST_CASE("a plan of 1,000 members has 61 kB", "[wire]") {
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
    const SharedBytes frame = signed_frame(samples.message(plan, test_key()));
    std::printf("a plan of 1,000 members and %u reducers: %zu bytes\n", reducers, frame->size());
    REQUIRE(frame->size() <= 61'200);
    REQUIRE(decode(*frame, LinkKind::kProven).has_value());
}

TEST_CASE("a plan has as many bytes for each member as the limits assume", "[wire]") {
    const auto size = [](std::size_t members) {
        Plan plan;
        plan.members.resize(members);
        return pack(plan).size();
    };
    REQUIRE(size(1'024) == size(512) + 512 * kMemberBytes);
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
        offer.record.members.push_back({.peer = key, .samples = Samples{0}, .reduced = 1});
        if (offer.certificate.votes.size() == kMaxVoters) continue;
        offer.certificate.votes.push_back({.voter = key});
    }
    for (std::uint32_t i = 0; i < kMaxRanges; ++i) plan.ranges.push_back({PeerIndex{0}, i, i + 1});
    for (std::size_t i = 0; i < kMaxReducers; ++i) {
        plan.reducers.push_back(
            {PeerIndex{0}, {"2001:db8:ffff:ffff:ffff:ffff:192.168.100.100", 9}});
        plan.relays.push_back(static_cast<std::uint32_t>(i));
    }
    offer.leaves.resize(kMaxOfferedLeaves);
    const StateOffer state{.bytes = kMaxOfferedLeaves * kLeafBytes,
                           .leaves = offer.leaves,
                           .record = {},
                           .votes = offer.certificate.votes};
    const StateVotes votes{.record = {}, .state = {}, .votes = offer.certificate.votes};
    Generation generation;
    generation.generation.record.generation = kMaxGeneration;
    generation.generation.record.voters.assign(keys.begin(), keys.begin() + kMaxVoters);
    Propose propose;
    propose.record = offer.record;
    Promise promise;
    promise.accepted = offer.record;
    Chunk chunk;
    chunk.chunk_elements = kChunkElements;
    chunk.elements = FloatVector(kChunkElements);
    Leaf leaf;
    leaf.data.resize(kLeafBytes);
    Commit commit;
    commit.certificate = offer.certificate;
    commit.record = offer.record;
    const std::vector<Body> largest{plan,
                                    offer,
                                    state,
                                    votes,
                                    chunk,
                                    leaf,
                                    commit,
                                    generation,
                                    propose,
                                    promise,
                                    Relay{Buffer(kMaxRelayedBytes)},
                                    RevocationList{Buffer(kMaxRevocationsBytes)}};
    for (const Body& body : largest) {
        const Message message = samples.message(body, test_key());
        const SharedBytes frame = signed_frame(message);
        REQUIRE(decode(*frame, LinkKind::kUnproven).value() == message);
        if (may_be_relayed(body)) REQUIRE(frame->size() <= kMaxRelayedBytes);
    }
}

TEST_CASE("a backbone's records read back equal, and other bytes are refused", "[wire][property]") {
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
