// Frames to bytes and back, plain and sealed, with any sizes of reads and writes; and sealed
// streams that an attacker modifies.
#include <catch2/catch.hpp>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/net/session/frame_codec.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::net {
namespace {

constexpr std::size_t kMaxBody = std::size_t{1} << 20;
using Key = std::array<std::byte, 32>;

Key key_of(std::uint8_t n) {
    Key key{};
    key[0] = std::byte{n};
    return key;
}

/// One end of a link; without a cipher it is plain.
FrameCodec codec(std::optional<Cipher> cipher, bool is_first,
                 const BufferPool& pool = BufferPool{0}) {
    if (!cipher) return make_plain_codec(kMaxBody, pool);
    const Key one = key_of(1);
    const Key two = key_of(2);
    return make_sealed_codec(
        {.cipher = *cipher, .send = is_first ? one : two, .receive = is_first ? two : one},
        kMaxBody, pool);
}

Cipher any_cipher() {
    return GENERATE(Cipher::kXChaCha20, Cipher::kAes256Gcm);
}

SharedBytes body_of(std::size_t size, std::uint64_t seed) {
    Buffer bytes(size);
    Random random(seed);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    return std::make_shared<const Buffer>(std::move(bytes));
}

OutgoingFrame data(Frame body) {
    const auto length = static_cast<std::uint32_t>(body.size());
    return {{kFrameMagic, FrameKind::kData, length, 0}, std::move(body)};
}
/// A frame of the same bytes in several pieces of memory.
Frame scattered(const SharedBytes& body, Random& chance) {
    const std::size_t begin = chance.below(body->size() + 1);
    const std::size_t end = begin + chance.below(body->size() + 1 - begin);
    const std::span<const std::byte> all{*body};
    const std::span<const std::byte> before = all.first(begin);
    const std::span<const std::byte> after = all.subspan(end);
    auto around = std::make_shared<Buffer>(before.begin(), before.end());
    around->insert(around->end(), after.begin(), after.end());
    return {std::move(around), begin, {body, all.subspan(begin, end - begin)}};
}
OutgoingFrame ticket(SharedBytes body) {
    return {{kFrameMagic, FrameKind::kTicket, wire::kTicketBytes, 0}, std::move(body)};
}
OutgoingFrame bare(FrameKind kind, std::uint32_t reason = 0) {
    return {{kFrameMagic, kind, 0, reason}, {}};
}

/// All bytes of these frames, with writes of random sizes.
Buffer written(FrameEncoder& encoder, const std::vector<OutgoingFrame>& frames, Random& chance) {
    ByteWriter out;
    std::size_t next = 0;
    std::size_t done = 0;
    std::size_t bytes = 0;
    while (true) {
        while (next < frames.size() && encoder.has_space()) encoder.add(frames[next++]);
        if (encoder.is_empty()) break;
        std::size_t total = 0;
        const auto pieces = encoder.next();
        for (const auto& piece : pieces) total += piece.size();
        REQUIRE(total > 0);
        const std::size_t count = 1 + chance.below(total);
        std::size_t rest = count;
        for (const auto& piece : pieces) {
            out.append(piece.first(std::min(rest, piece.size())));
            rest -= std::min(rest, piece.size());
        }
        const FrameEncoder::Written ended = encoder.written(count);
        done += ended.frames;
        bytes += ended.bytes;
    }
    CHECK(done == frames.size());
    std::size_t expected = 0;
    for (const OutgoingFrame& frame : frames) expected += frame.size();
    CHECK(bytes == expected);
    return std::move(out).finish();
}

struct Heard {
    std::vector<SharedBytes> frames;  ///< bodies of data frames
    std::vector<Buffer> tickets;
    std::size_t receipts = 0;
    std::uint32_t next_ping = 0;
    std::optional<std::uint32_t> goodbye;
    bool is_broken = false;
    std::size_t read = 0;  ///< bytes

    void take(const FrameHeader& header, SharedBytes body) {
        REQUIRE_FALSE(goodbye);
        if (header.kind == FrameKind::kData) frames.push_back(std::move(body));
        if (header.kind == FrameKind::kTicket) tickets.push_back(*body);
        if (header.kind == FrameKind::kReceipt) receipts += header.detail;
        if (header.kind == FrameKind::kPing) next_ping = header.detail;
        if (header.kind == FrameKind::kGoodbye) goodbye = header.detail;
    }
};

/// Decodes a stream, with reads of random sizes or, without `chance`, of the largest size.
Heard heard(FrameDecoder& decoder, std::span<const std::byte> stream, Random* chance = nullptr) {
    Heard heard;
    while (heard.read < stream.size() && !heard.goodbye && !heard.is_broken) {
        const auto places = decoder.next();
        std::size_t count = std::min(places[0].size() + places[1].size(),  //
                                     stream.size() - heard.read);
        if (chance != nullptr) count = 1 + chance->below(count);
        REQUIRE(count > 0);
        const std::size_t first = std::min(count, places[0].size());
        std::memcpy(places[0].data(), stream.data() + heard.read, first);
        if (count > first) {
            std::memcpy(places[1].data(), stream.data() + heard.read + first, count - first);
        }
        heard.read += count;
        heard.is_broken = !decoder.read(count, [&](const FrameHeader& header, SharedBytes body) {
            heard.take(header, std::move(body));
        });
    }
    return heard;
}

TEST_CASE("frames of every size are decoded for any sizes of reads and writes", "[net]") {
    const auto cipher = GENERATE(std::optional<Cipher>{}, std::optional{Cipher::kXChaCha20},
                                 std::optional{Cipher::kAes256Gcm});
    const std::vector<std::size_t> sizes{0,
                                         1,
                                         15,
                                         16,
                                         17,
                                         70'000,
                                         kPieceBytes - 1,
                                         kPieceBytes,
                                         0,
                                         0,
                                         5,
                                         kPieceBytes + 1,
                                         kMaxBody,
                                         600'000};
    const BufferPool pool{3'000'000};  // some buffers are reused
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        Random chance(seed);
        std::vector<OutgoingFrame> frames;
        std::size_t tickets = 0;
        std::size_t receipts = 2;
        for (const std::size_t size : sizes) {
            const SharedBytes body = body_of(size, seed + size);
            frames.push_back(data(chance.below(2) == 0 ? Frame{body} : scattered(body, chance)));
            if (chance.below(3) == 0) {
                frames.push_back(ticket(body_of(wire::kTicketBytes, ++tickets)));
            }
            if (chance.below(3) == 0) frames.push_back(bare(FrameKind::kPing));
            if (chance.below(3) == 0) {
                frames.push_back(bare(FrameKind::kReceipt, 1));
                ++receipts;
            }
        }
        frames.push_back(bare(FrameKind::kReceipt, 2));
        frames.push_back(bare(FrameKind::kPing, 1'500));
        frames.push_back(bare(FrameKind::kGoodbye, 9));
        const FrameCodec here = codec(cipher, true);
        const FrameCodec there = codec(cipher, false, pool);
        const Buffer stream = written(*here.encoder, frames, chance);
        const Heard all = heard(*there.decoder, stream, seed % 2 == 0 ? &chance : nullptr);
        REQUIRE(all.goodbye == 9U);
        CHECK_FALSE(all.is_broken);
        CHECK(all.next_ping == 1'500);
        CHECK(all.receipts == receipts);
        CHECK(all.read == stream.size());
        REQUIRE(all.tickets.size() == tickets);
        for (std::size_t i = 0; i < tickets; ++i) {
            CHECK(all.tickets[i] == *body_of(wire::kTicketBytes, i + 1));
        }
        REQUIRE(all.frames.size() == sizes.size());
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            REQUIRE(*all.frames[i] == *body_of(sizes[i], seed + sizes[i]));
        }
    }
}

TEST_CASE("a sealed stream does not contain its plaintext", "[net]") {
    const Cipher cipher = any_cipher();
    const FrameCodec here = codec(cipher, true);
    Random chance(1);
    const std::string text(1'000, 'x');
    const auto body = std::make_shared<const Buffer>(bytes_of(text).begin(), bytes_of(text).end());
    const Buffer stream = written(*here.encoder, {data(body)}, chance);
    CHECK(stream.size() == start_bytes(cipher) + 33 + 1'000 + 17);
    std::size_t longest = 0;
    std::size_t run = 0;
    for (const std::byte byte : stream) {
        run = byte == std::byte{'x'} ? run + 1 : 0;
        longest = std::max(longest, run);
    }
    CHECK(longest < 8);
}

TEST_CASE("a sealed stream with any byte flipped ends there and delivers no frame behind it",
          "[net]") {
    const Cipher cipher = any_cipher();
    const std::size_t start = start_bytes(cipher);
    Random chance(2);
    const std::vector<OutgoingFrame> frames{data(body_of(40, 1)), bare(FrameKind::kPing),
                                            data(body_of(30, 2)), bare(FrameKind::kGoodbye)};
    const FrameCodec here = codec(cipher, true);
    const Buffer stream = written(*here.encoder, frames, chance);
    const std::size_t first_end = start + 33 + 40 + 17;
    for (std::size_t at = 0; at < stream.size(); ++at) {
        Buffer changed = stream;
        changed[at] ^= std::byte{0x40};
        const FrameCodec there = codec(cipher, false);
        const Heard all = heard(*there.decoder, changed);
        CAPTURE(at);
        REQUIRE(all.is_broken);
        REQUIRE(all.frames.size() == (at < first_end ? 0 : at < stream.size() - 33 ? 1 : 2));
    }
}

TEST_CASE("a truncated sealed stream delivers only whole frames and no goodbye", "[net]") {
    const Cipher cipher = any_cipher();
    Random chance(3);
    const FrameCodec here = codec(cipher, true);
    const Buffer stream =
        written(*here.encoder,
                {data(body_of(40, 1)), data(body_of(30, 2)), bare(FrameKind::kGoodbye)}, chance);
    for (std::size_t size = 0; size < stream.size(); ++size) {
        const FrameCodec there = codec(cipher, false);
        const Heard all = heard(*there.decoder, std::span{stream}.first(size));
        REQUIRE_FALSE(all.is_broken);
        REQUIRE_FALSE(all.goodbye);
        for (const SharedBytes& frame : all.frames) {
            REQUIRE((frame->size() == 40 || frame->size() == 30));
        }
    }
}

TEST_CASE("repeated, dropped, swapped or reflected sealed frames end the link", "[net]") {
    const Cipher cipher = any_cipher();
    Random chance(4);
    const FrameCodec here = codec(cipher, true);
    const std::vector<OutgoingFrame> frames{data(body_of(40, 1)), data(body_of(40, 2)),
                                            data(body_of(40, 3))};
    const Buffer stream = written(*here.encoder, frames, chance);
    constexpr std::size_t kFrame = 33 + 40 + 17;
    const auto piece = [&](std::size_t n) {
        return std::span{stream}.subspan(start_bytes(cipher) + n * kFrame, kFrame);
    };
    const auto outcome = [&](const std::vector<std::size_t>& order, bool is_back = false) {
        ByteWriter out;
        out.append(std::span{stream}.first(start_bytes(cipher)));
        for (const std::size_t n : order) out.append(piece(n));
        const FrameCodec there = codec(cipher, is_back);
        return heard(*there.decoder, std::move(out).finish());
    };
    CHECK(outcome({0, 1, 2}).frames.size() == 3);
    for (const auto& order : {std::vector<std::size_t>{0, 0, 1}, {1, 0, 2}, {0, 2}, {1, 2}}) {
        const Heard all = outcome(order);
        CHECK(all.is_broken);
        CHECK(all.frames.size() <= 1);
    }
    const Heard back = outcome({0, 1, 2}, true);
    CHECK(back.is_broken);
    CHECK(back.frames.empty());
}

TEST_CASE("a sealed frame that is too large or of an unknown kind ends the link", "[net]") {
    const Cipher cipher = any_cipher();
    Random chance(5);
    for (const FrameHeader& header :
         {FrameHeader{kFrameMagic, FrameKind::kData, kMaxBody + 1, 0},
          FrameHeader{kFrameMagic, static_cast<FrameKind>(7), 0, 0},
          FrameHeader{kFrameMagic, FrameKind::kPing, 1, 0},
          FrameHeader{kFrameMagic, FrameKind::kReceipt, 0, 0},
          FrameHeader{kFrameMagic, FrameKind::kTicket, 0, 0},
          FrameHeader{kFrameMagic, FrameKind::kTicket, kMaxBody, 0},
          FrameHeader{kFrameMagic, FrameKind::kTicket, wire::kTicketBytes, 1},
          FrameHeader{kFrameMagic, FrameKind::kWiden, 1, 0},
          FrameHeader{kFrameMagic, FrameKind::kWiden, 0, 1},
          FrameHeader{kFrameMagic, FrameKind::kGoodbye, 0, kMaxFlows << 8},
          FrameHeader{kFrameMagic ^ 1, FrameKind::kPing, 0, 0}}) {
        const FrameCodec here = codec(cipher, true);
        const FrameCodec there = codec(cipher, false);
        const Buffer stream = written(*here.encoder, {{header, {}}}, chance);
        CHECK(heard(*there.decoder, stream).is_broken);
    }
}

TEST_CASE("the encoder takes few frames and seals at most one write at a time", "[net]") {
    const Cipher cipher = any_cipher();
    const FrameCodec here = codec(cipher, true);
    const SharedBytes body = body_of(kMaxBody, 1);
    std::size_t added = 0;
    for (; here.encoder->has_space(); ++added) here.encoder->add(data(body));
    CHECK(added <= 64);
    std::size_t total = 0;
    for (const auto& piece : here.encoder->next()) total += piece.size();
    CHECK(total <= kPieceBytes + 100);
}

TEST_CASE("frames do not open with another cipher", "[net]") {
    Random chance(6);
    const Cipher cipher = any_cipher();
    const FrameCodec here = codec(cipher, true);
    const FrameCodec there =
        codec(cipher == Cipher::kAes256Gcm ? Cipher::kXChaCha20 : Cipher::kAes256Gcm, false);
    const Buffer stream = written(*here.encoder, {data(body_of(100, 1))}, chance);
    const Heard all = heard(*there.decoder, stream);
    CHECK(all.is_broken);
    CHECK(all.frames.empty());
}

TEST_CASE("large buffers are reused up to the pool's limit, small ones are not", "[net]") {
    BufferPool pool{1 << 20};
    auto first = pool.take(500'000);
    auto second = pool.take(600'000);
    CHECK(first->empty());
    CHECK(first->capacity() >= 500'000);
    first->resize(500'000);
    second->resize(600'000);
    const auto* const place = second->data();
    first.reset();
    second.reset();  // both together exceed the pool's limit
    CHECK(pool.take(100)->capacity() < 1'000);
    auto again = pool.take(300'000);
    CHECK(again->size() == 300'000);
    CHECK(again->data() != place);
    CHECK(pool.take(200'000)->empty());
    auto larger = std::exchange(again, nullptr);
    larger.reset();
    larger = pool.take(700'000);
    CHECK(larger->capacity() >= 700'000);
    pool = BufferPool{0};
    larger.reset();  // the pool that it returns to has no other owner
}

}  // namespace
}  // namespace dedloc::net
