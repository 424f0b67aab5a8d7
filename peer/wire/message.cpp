#include "peer/wire/message.hpp"

#include <algorithm>
#include <cstring>

#include "peer/base/check.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/message_codec.hpp"

namespace dedloc::wire {

std::uint32_t index_of(const Plan& plan, const PeerKey& peer) {
    const auto& members = plan.members;
    const auto it = std::lower_bound(
        members.begin(), members.end(), peer,
        [](const PlanMember& member, const PeerKey& key) { return member.peer < key; });
    const bool is_member = it != members.end() && it->peer == peer;
    return static_cast<std::uint32_t>((is_member ? it : members.end()) - members.begin());
}

std::uint64_t mix_of(const Plan& plan) {
    ByteWriter out;
    out.append(bytes_of("DeDLOC@home mix 1\n"));
    for (const PlanMember& member : plan.members) {
        if (member.samples == Samples{0}) continue;
        out.append(member.peer.bytes);
        out.write(member.freeze);
        out.write(member.samples.value());
    }
    const Digest digest = blake2b(std::move(out).finish());
    std::uint64_t mix = 0;
    std::memcpy(&mix, digest.bytes.data(), sizeof mix);
    return mix;
}

bool is_bulk(const Body& body) {
    return std::holds_alternative<Chunk>(body) || std::holds_alternative<LeafRequest>(body) ||
           std::holds_alternative<Leaf>(body);
}

const char* describe(DecodeError error) {
    switch (error) {
        case DecodeError::kTooLarge:
            return "frame too large";
        case DecodeError::kMalformed:
            return "malformed message";
        case DecodeError::kOutOfBounds:
            return "field out of bounds";
        case DecodeError::kBadSignature:
            return "bad signature";
    }
    return "unknown";
}

SharedBytes encode(const Message& message, const KeyPair& key) {
    DEDLOC_CHECK(key.public_key() == message.sender, "a message is signed by its sender");
    DEDLOC_CHECK(is_within_bounds(message), "a message keeps its bounds", message.body.index());
    auto frame = std::make_shared<Buffer>(pack(message, kSignatureBytes));
    DEDLOC_CHECK(frame->size() <= kMaxFrameBytes, "a message fits a frame", frame->size());
    const Signature signature = key.sign(std::span{*frame}.subspan(kSignatureBytes));
    std::copy(signature.begin(), signature.end(), frame->begin());
    return frame;
}

Result<Message, DecodeError> decode(std::span<const std::byte> frame) {
    if (frame.size() > kMaxFrameBytes) return Failure{DecodeError::kTooLarge};
    if (frame.size() <= kSignatureBytes) return Failure{DecodeError::kMalformed};
    const auto payload = frame.subspan(kSignatureBytes);
    auto message = unpack(payload);
    if (!message) return message;
    Signature signature;
    std::copy_n(frame.begin(), signature.size(), signature.begin());
    if (!verify(message->sender, payload, signature)) return Failure{DecodeError::kBadSignature};
    if (!is_within_bounds(*message)) return Failure{DecodeError::kOutOfBounds};
    return message;
}

std::optional<std::size_t> body_index(std::span<const std::byte> frame) {
    if (frame.size() <= kSignatureBytes || frame.size() > kMaxFrameBytes) return std::nullopt;
    return packed_body_index(frame.subspan(kSignatureBytes));
}

Result<Message, DecodeError> decode_unsigned(std::span<const std::byte> payload) {
    if (payload.size() > kMaxFrameBytes - kSignatureBytes) return Failure{DecodeError::kTooLarge};
    auto message = unpack(payload);
    if (message && !is_within_bounds(*message)) return Failure{DecodeError::kOutOfBounds};
    return message;
}

}  // namespace dedloc::wire
