#include <map>

#include "peer/base/bytes.hpp"
#include "peer/net/session/link_frame.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/message_codec.hpp"
#include "tests/fuzz/seeds.hpp"
#include "tests/peer/wire/samples.hpp"

namespace dedloc::fuzz {
namespace {

using tests::WireSamples;

std::map<std::string, SharedBytes> largest_frames() {
    WireSamples samples{4};
    std::map<std::string, SharedBytes> frames;
    const auto add = [&](const std::string& name, const wire::Body& body) {
        frames[name] = wire::frame_of(samples.message(body, tests::test_key()), nullptr);
    };
    wire::Chunk chunk;
    chunk.chunk_elements = wire::kChunkElements;
    FloatVector values(wire::kChunkElements);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0x1p-20f;
    chunk.elements = values;
    add("largest_chunk", chunk);
    std::vector<std::uint16_t> bits(wire::kChunkElements);
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i % 0x7c00);
    chunk.elements = wire::Halves{.bits = bits, .exponent = 127};
    add("largest_chunk_of_halves", chunk);
    chunk.elements = wire::Bfloats{.bits = bits};
    add("largest_chunk_of_bfloats", chunk);
    std::vector<std::int8_t> codes(wire::kChunkElements);
    for (std::size_t i = 0; i < codes.size(); ++i) {
        codes[i] = static_cast<std::int8_t>(static_cast<int>(i % 255) - wire::kMaxInt8Code);
    }
    chunk.elements = wire::Int8Blocks{
        .codes = std::move(codes),
        .exponents = std::vector<std::uint8_t>(wire::kChunkElements / wire::kInt8BlockElements,
                                               wire::kMaxInt8Exponent)};
    add("largest_chunk_of_int8_blocks", chunk);
    wire::Leaf leaf;
    leaf.data = Buffer(wire::kLeafBytes, std::byte{7});
    add("largest_leaf", leaf);
    wire::Plan plan;
    samples.make(plan);
    plan.members.clear();
    for (std::size_t k = 0; k < wire::kMaxMembers; ++k) {
        wire::PlanMember member;
        member.peer.bytes[0] = static_cast<std::byte>(k >> 8);
        member.peer.bytes[1] = static_cast<std::byte>(k & 255);
        member.samples = Samples{k};
        plan.members.push_back(member);
    }
    add("largest_plan", plan);
    return frames;
}

Buffer header_of(std::size_t length) {
    ByteWriter out;
    out.write(net::FrameHeader{.magic = net::kFrameMagic,
                               .kind = net::FrameKind::kData,
                               .length = static_cast<std::uint32_t>(length)});
    return std::move(out).finish();
}

}  // namespace

void write_large_seeds(const std::filesystem::path& root) {
    const Corpus messages(root, "message");
    const Corpus links(root, "link_frame");
    const Corpus sessions(root, "session");
    for (const auto& [name, frame] : largest_frames()) {
        messages.add(name, *frame);
        const Buffer header = header_of(frame->size());
        ByteWriter plain;
        plain.append(header);
        plain.append(*frame);
        const Buffer bytes = std::move(plain).finish();
        links.add(name, bytes);
        // As fuzz_session.cpp reads them: 4 feeds the plain codec, 6 is sealed by the target.
        ByteWriter session;
        session.write(std::uint8_t{4});
        session.append(bytes);
        sessions.add("plain_" + name, std::move(session).finish());
        ByteWriter sealed;
        sealed.write(std::uint8_t{6});
        sealed.append(header);
        sealed.write(static_cast<std::uint32_t>(frame->size()));
        sealed.append(*frame);
        sessions.add("sealed_" + name, std::move(sealed).finish());
    }
}

}  // namespace dedloc::fuzz
