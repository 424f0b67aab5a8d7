// A frame is form ‖ signature, if signed ‖ FlatBuffers payload. encode() packs the payload behind
// space for form and signature, then signs it; the elements of an unsigned chunk stay outside the
// packed bytes. decode() checks size and form, the verifier, whether a signature is needed, the
// signature, and the bounds, in this order. unpack() reads no field that the verifier has not
// passed.
#include "peer/wire/message.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "peer/base/check.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/message_codec.hpp"

namespace dedloc::wire {
namespace {

/// The first byte of a frame; seven zeros follow.
enum class FrameForm : std::uint8_t { kSigned = 1, kUnsigned = 2 };

constexpr std::size_t bytes_before_message(FrameForm form) {
    return kFormBytes + (form == FrameForm::kSigned ? kSignatureBytes : 0);
}

/// The form of a frame; nothing if it is unknown or if no message follows it.
std::optional<FrameForm> form_of(std::span<const std::byte> frame) {
    if (frame.size() <= kFormBytes) return std::nullopt;
    const auto form = static_cast<FrameForm>(frame.front());
    const bool is_known = form == FrameForm::kSigned || form == FrameForm::kUnsigned;
    const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
    if (!is_known || !std::ranges::all_of(frame.subspan(1, kFormBytes - 1), is_zero)) return {};
    if (frame.size() <= bytes_before_message(form)) return std::nullopt;
    return form;
}

/// Requires a signed frame.
Signature signature_of(std::span<const std::byte> frame) {
    Signature signature;
    std::ranges::copy(frame.subspan(kFormBytes, kSignatureBytes), signature.begin());
    return signature;
}

}  // namespace

Commit full_commit(const Decision& decision) {
    return {.digest = digest_of(decision.record),
            .certificate = decision.certificate,
            .attempt = 0,
            .average = decision.record.average,
            .previous_state = decision.record.previous_state,
            .record = decision.record};
}

std::uint32_t index_of(const Plan& plan, const PeerKey& peer) {
    const auto& members = plan.members;
    const auto it = std::lower_bound(
        members.begin(), members.end(), peer,
        [](const PlanMember& member, const PeerKey& key) { return member.peer < key; });
    const bool is_member = it != members.end() && it->peer == peer;
    return static_cast<std::uint32_t>((is_member ? it : members.end()) - members.begin());
}

std::uint32_t chunks_of(const Plan& plan, std::uint32_t member) {
    std::uint32_t chunks = 0;
    for (const ChunkRange& range : plan.ranges) {
        if (range.member.value() == member) chunks += range.last_chunk - range.first_chunk;
    }
    return chunks;
}

std::vector<std::uint64_t> reduced_elements(const Plan& plan) {
    std::vector<std::uint64_t> elements(plan.members.size());
    const auto begin_of = [&](std::uint32_t chunk) {
        return std::min(std::uint64_t{chunk} * plan.chunk_elements, plan.elements);
    };
    for (const ChunkRange& range : plan.ranges) {
        elements.at(range.member.value()) +=
            begin_of(range.last_chunk) - begin_of(range.first_chunk);
    }
    return elements;
}

std::uint64_t sum_id_of(const Plan& plan) {
    ByteWriter out;
    out.append(bytes_of("DeDLOC@home mix 1\n"));
    for (const PlanMember& member : plan.members) {
        if (member.samples == Samples{0}) continue;
        out.append(member.peer.bytes);
        out.write(member.contribution_id);
        out.write(member.samples.value());
    }
    const Digest digest = blake2b(std::move(out).finish());
    std::uint64_t sum_id = 0;
    std::memcpy(&sum_id, digest.bytes.data(), sizeof sum_id);
    return sum_id;
}

std::size_t count_of(const Elements& elements) {
    struct Count {
        std::size_t operator()(const SharedSlice<float>& floats) const { return floats.size(); }
        std::size_t operator()(const Halves& halves) const { return halves.bits.size(); }
        std::size_t operator()(const Bfloats& bfloats) const { return bfloats.bits.size(); }
        std::size_t operator()(const Int8Blocks& blocks) const { return blocks.codes.size(); }
    };
    return std::visit(Count{}, elements);
}

bool is_exponent_of(Codec codec, std::uint8_t exponent) {
    switch (codec) {
        case Codec::kFp16:
            return exponent >= kMinHalfExponent && exponent <= kMaxHalfExponent;
        case Codec::kInt8:
            return exponent >= kMinInt8Exponent && exponent <= kMaxInt8Exponent;
        case Codec::kFp32:
        case Codec::kBf16:
            break;
    }
    return exponent == 0;
}

bool is_bulk(const Body& body) {
    return std::holds_alternative<Chunk>(body) || std::holds_alternative<LeafRequest>(body) ||
           std::holds_alternative<Leaf>(body);
}

bool may_be_relayed(const Body& body) {
    return std::holds_alternative<Plan>(body) || std::holds_alternative<PlanChange>(body) ||
           std::holds_alternative<Commit>(body);
}

const char* describe(DecodeError error) {
    switch (error) {
        case DecodeError::kTooLarge:
            return "frame too large";
        case DecodeError::kMalformed:
            return "malformed message";
        case DecodeError::kUnsigned:
            return "frame without a signature";
        case DecodeError::kOutOfBounds:
            return "field out of bounds";
        case DecodeError::kBadSignature:
            return "bad signature";
    }
    return "unknown";
}

std::span<const std::byte> payload_of(std::span<const std::byte> frame) {
    const auto form = form_of(frame);
    return form ? frame.subspan(bytes_before_message(*form)) : std::span<const std::byte>{};
}

namespace {

Packed packed_as(FrameForm form, const Message& message) {
    Packed packed = pack(message, bytes_before_message(form));
    packed.around.front() = static_cast<std::byte>(form);
    return packed;
}

}  // namespace

SharedBytes frame_of(const Message& message, const KeyPair* key) {
    Packed packed = packed_as(key != nullptr ? FrameForm::kSigned : FrameForm::kUnsigned, message);
    Buffer& bytes = packed.around;
    const auto bulk = packed.bulk.values();
    bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(packed.bulk_at), bulk.begin(),
                 bulk.end());
    if (key != nullptr) {
        const Signature signature = key->sign(payload_of(bytes));
        std::copy(signature.begin(), signature.end(), bytes.begin() + kFormBytes);
    }
    return std::make_shared<const Buffer>(std::move(bytes));
}

Frame encode(const Message& message, const KeyPair& key, LinkKind link) {
    DEDLOC_CHECK(key.public_key() == message.sender, "the sender of the message signs it");
    DEDLOC_CHECK(is_within_bounds(message), "every field of the message is within its bounds",
                 message.body.index());
    const bool is_signed = link == LinkKind::kUnproven || may_be_relayed(message.body);
    Frame frame;
    if (is_signed) {
        frame = frame_of(message, &key);
    } else {
        Packed packed = packed_as(FrameForm::kUnsigned, message);
        frame = {std::make_shared<const Buffer>(std::move(packed.around)), packed.bulk_at,
                 std::move(packed.bulk)};
    }
    DEDLOC_CHECK(frame.size() <= kMaxFrameBytes, "the message fits a frame", frame.size());
    return frame;
}

namespace {

/// The elements of a chunk may share `owner`, which holds the frame; null: they are copied.
Result<Message, DecodeError> decode(std::span<const std::byte> frame, LinkKind link,
                                    const SharedBytes& owner) {
    if (frame.size() > kMaxFrameBytes) return Failure{DecodeError::kTooLarge};
    const auto form = form_of(frame);
    if (!form) return Failure{DecodeError::kMalformed};
    const bool is_signed = form == FrameForm::kSigned;
    if (!is_signed && link == LinkKind::kUnproven) return Failure{DecodeError::kUnsigned};
    const auto payload = payload_of(frame);
    auto message = unpack(payload, owner);
    if (!message) return message;
    if (!is_signed && may_be_relayed(message->body)) return Failure{DecodeError::kUnsigned};
    if (is_signed && !verify(message->sender, payload, signature_of(frame))) {
        return Failure{DecodeError::kBadSignature};
    }
    if (!is_within_bounds(*message)) return Failure{DecodeError::kOutOfBounds};
    return message;
}

}  // namespace

Result<Message, DecodeError> decode(std::span<const std::byte> frame, LinkKind link) {
    return decode(frame, link, nullptr);
}

Result<Message, DecodeError> decode(const SharedBytes& frame, LinkKind link) {
    return decode(*frame, link, frame);
}

Result<Message, DecodeError> decode_unverified(std::span<const std::byte> frame) {
    if (frame.size() > kMaxFrameBytes) return Failure{DecodeError::kTooLarge};
    auto message = unpack(payload_of(frame));
    if (message && !is_within_bounds(*message)) return Failure{DecodeError::kOutOfBounds};
    return message;
}

std::optional<std::size_t> body_index(std::span<const std::byte> frame) {
    if (frame.size() > kMaxFrameBytes) return std::nullopt;
    return packed_body_index(payload_of(frame));
}

Body::Body() = default;
Body::Body(const Body& other) = default;
Body::Body(Body&& other) noexcept = default;
Body& Body::operator=(const Body& other) = default;
Body& Body::operator=(Body&& other) noexcept = default;
Body::~Body() = default;

}  // namespace dedloc::wire
