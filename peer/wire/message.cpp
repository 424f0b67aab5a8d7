#include "peer/wire/message.hpp"

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "messages_generated.h"
#include "peer/base/check.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::wire {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// --- values to tables --------------------------------------------------------

template <class Tag>
fb::Bytes32 pack(const Bytes32<Tag>& value) {
    std::array<std::uint8_t, 32> bytes;
    std::memcpy(bytes.data(), value.bytes.data(), bytes.size());
    return fb::Bytes32{flatbuffers::span<const std::uint8_t, 32>{bytes}};
}

struct Packer {
    FlatBufferBuilder& out;

    Offset<void> operator()(const Challenge& m) const {
        const auto nonce = pack(m.nonce);
        return fb::CreateChallenge(out, &nonce).Union();
    }
    Offset<void> operator()(const Hello& m) const {
        const auto nonce = pack(m.nonce);
        const auto name = out.CreateString(m.result_name);
        return fb::CreateHello(out, m.protocol, static_cast<fb::Role>(m.role), m.listening_port,
                               name, &nonce)
            .Union();
    }
    Offset<void> operator()(const Heartbeat& m) const {
        const auto digest = pack(m.digest);
        return fb::CreateHeartbeat(out, m.has_state, &digest, m.samples.value(),
                                   m.samples_per_second, m.upload_bytes_per_second)
            .Union();
    }
    Offset<void> operator()(const Call& m) const { return fb::CreateCall(out, m.attempt).Union(); }
    Offset<void> operator()(const Join& m) const {
        const auto digest = pack(m.digest);
        return fb::CreateJoin(out, m.attempt, m.samples.value(), m.loss_sum, m.is_finite, &digest)
            .Union();
    }
    Offset<void> operator()(const Plan& m) const {
        std::vector<Offset<fb::PlanMember>> members;
        members.reserve(m.members.size());
        for (const PlanMember& member : m.members) {
            const auto key = pack(member.peer);
            const auto host = out.CreateString(member.endpoint.host);
            members.push_back(fb::CreatePlanMember(out, &key, host, member.endpoint.port,
                                                   member.samples.value()));
        }
        return fb::CreatePlanDirect(out, m.attempt, &members, &m.boundaries).Union();
    }
    Offset<void> operator()(const Cancel& m) const {
        return fb::CreateCancel(out, m.attempt).Union();
    }
    Offset<void> operator()(const Chunk& m) const {
        return fb::CreateChunkDirect(out, m.attempt, static_cast<fb::Phase>(m.phase),
                                     m.part.value(), m.offset, &m.elements)
            .Union();
    }
    Offset<void> operator()(const Ready& m) const {
        const auto average = pack(m.average);
        return fb::CreateReady(out, m.attempt, &average).Union();
    }
    Offset<void> operator()(const Commit& m) const {
        std::vector<Offset<fb::CommitLine>> lines;
        lines.reserve(m.record.members.size());
        for (const CommitLine& line : m.record.members) {
            const auto key = pack(line.peer);
            lines.push_back(fb::CreateCommitLine(out, &key, line.samples.value(), line.loss_sum));
        }
        const auto average = pack(m.record.average);
        const auto previous = pack(m.record.previous_state);
        return fb::CreateCommitDirect(out, m.record.attempt, &lines, &average, &previous,
                                      m.record.scalars.learning_rate,
                                      m.record.scalars.bias_correction)
            .Union();
    }
    Offset<void> operator()(const StateQuery&) const { return fb::CreateStateQuery(out).Union(); }
    Offset<void> operator()(const StateOffer& m) const {
        const auto digest = pack(m.digest);
        return fb::CreateStateOffer(out, &digest, m.bytes).Union();
    }
    Offset<void> operator()(const StateRequest& m) const {
        return fb::CreateStateRequest(out, m.offset).Union();
    }
    Offset<void> operator()(const StateChunk& m) const {
        const auto data =
            out.CreateVector(reinterpret_cast<const std::uint8_t*>(m.data.data()), m.data.size());
        return fb::CreateStateChunk(out, m.offset, data).Union();
    }
    Offset<void> operator()(const Leave&) const { return fb::CreateLeave(out).Union(); }
    Offset<void> operator()(const Finished& m) const {
        const auto digest = pack(m.digest);
        return fb::CreateFinished(out, &digest).Union();
    }
    Offset<void> operator()(const Refusal& m) const {
        return fb::CreateRefusalDirect(out, m.reason.c_str()).Union();
    }
};

// --- tables to values: every function returns nothing when a bound is broken -

template <class Value>
Value unpack(const fb::Bytes32& packed) {
    Value value;
    std::memcpy(value.bytes.data(), packed.bytes()->data(), value.bytes.size());
    return value;
}

bool is_sane(double x) {
    return std::isfinite(x) && x >= 0;
}
bool is_sane_float(std::uint32_t bits) {
    return is_sane(double{std::bit_cast<float>(bits)});
}

std::optional<Body> unpack(const fb::Hello& t) {
    if (t.role() > fb::Role::MAX || t.result_name()->size() > kMaxResultNameBytes) return {};
    return Hello{.protocol = t.protocol(),
                 .role = static_cast<Role>(t.role()),
                 .listening_port = t.listening_port(),
                 .result_name = t.result_name()->str(),
                 .nonce = unpack<Digest>(*t.nonce())};
}

std::optional<Body> unpack(const fb::Heartbeat& t) {
    if (t.samples() > kMaxSamples || !is_sane(t.samples_per_second()) ||
        !is_sane(t.upload_bytes_per_second())) {
        return {};
    }
    return Heartbeat{.has_state = t.has_state(),
                     .digest = unpack<Digest>(*t.digest()),
                     .samples = Samples{t.samples()},
                     .samples_per_second = t.samples_per_second(),
                     .upload_bytes_per_second = t.upload_bytes_per_second()};
}

std::optional<Body> unpack(const fb::Join& t) {
    if (t.samples() > kMaxSamples) return {};
    return Join{.attempt = t.attempt(),
                .samples = Samples{t.samples()},
                .loss_sum = t.loss_sum(),
                .is_finite = t.is_finite(),
                .digest = unpack<Digest>(*t.digest())};
}

std::optional<Body> unpack(const fb::Plan& t) {
    const auto& members = *t.members();
    const auto& boundaries = *t.boundaries();
    if (members.size() == 0 || members.size() > kMaxMembers) return {};
    if (boundaries.size() != members.size() + 1 || boundaries.Get(0) != 0) return {};
    Plan plan{.attempt = t.attempt(), .members = {}, .boundaries = {}};
    for (const fb::PlanMember* member : members) {
        if (member->samples() > kMaxSamples || member->host()->size() > kMaxHostBytes) return {};
        plan.members.push_back({.peer = unpack<PeerKey>(*member->peer()),
                                .endpoint = {member->host()->str(), member->port()},
                                .samples = Samples{member->samples()}});
        const auto count = plan.members.size();
        if (count > 1 && !(plan.members[count - 2].peer < plan.members[count - 1].peer)) return {};
    }
    for (const std::uint64_t boundary : boundaries) {
        if (boundary > kMaxElements) return {};
        if (!plan.boundaries.empty() && boundary < plan.boundaries.back()) return {};
        plan.boundaries.push_back(boundary);
    }
    return plan;
}

std::optional<Body> unpack(const fb::Chunk& t) {
    const auto count = t.elements()->size();
    if (t.phase() > fb::Phase::MAX || t.part() >= kMaxMembers) return {};
    if (count == 0 || count > kChunkElements || t.offset() > kMaxElements) return {};
    Chunk chunk{.attempt = t.attempt(),
                .phase = static_cast<Phase>(t.phase()),
                .part = PartIndex{t.part()},
                .offset = t.offset(),
                .elements = FloatVector(count)};
    std::memcpy(chunk.elements.data(), t.elements()->Data(), count * sizeof(float));
    return chunk;
}

std::optional<Body> unpack(const fb::Commit& t) {
    if (t.members()->size() == 0 || t.members()->size() > kMaxMembers) return {};
    if (!is_sane_float(t.learning_rate_bits()) || !is_sane_float(t.bias_correction_bits()))
        return {};
    CommitRecord record{.step = {},
                        .attempt = t.attempt(),
                        .members = {},
                        .average = unpack<Digest>(*t.average()),
                        .previous_state = unpack<Digest>(*t.previous_state()),
                        .scalars = {.learning_rate = t.learning_rate_bits(),
                                    .bias_correction = t.bias_correction_bits()}};
    for (const fb::CommitLine* line : *t.members()) {
        if (line->samples() > kMaxSamples) return {};
        record.members.push_back({.peer = unpack<PeerKey>(*line->peer()),
                                  .samples = Samples{line->samples()},
                                  .loss_sum = line->loss_sum()});
    }
    return Commit{std::move(record)};
}

std::optional<Body> unpack(const fb::StateChunk& t) {
    const auto& data = *t.data();
    if (data.size() == 0 || data.size() > kStateChunkBytes) return {};
    const auto* first = reinterpret_cast<const std::byte*>(data.Data());
    return StateChunk{.offset = t.offset(), .data = Buffer(first, first + data.size())};
}

std::optional<Body> unpack_body(const fb::Message& m) {
    switch (m.body_type()) {
        case fb::Body::Challenge:
            return Challenge{unpack<Digest>(*m.body_as_Challenge()->nonce())};
        case fb::Body::Hello:
            return unpack(*m.body_as_Hello());
        case fb::Body::Heartbeat:
            return unpack(*m.body_as_Heartbeat());
        case fb::Body::Call:
            return Call{m.body_as_Call()->attempt()};
        case fb::Body::Join:
            return unpack(*m.body_as_Join());
        case fb::Body::Plan:
            return unpack(*m.body_as_Plan());
        case fb::Body::Cancel:
            return Cancel{m.body_as_Cancel()->attempt()};
        case fb::Body::Chunk:
            return unpack(*m.body_as_Chunk());
        case fb::Body::Ready: {
            const auto& t = *m.body_as_Ready();
            return Ready{.attempt = t.attempt(), .average = unpack<Digest>(*t.average())};
        }
        case fb::Body::Commit:
            return unpack(*m.body_as_Commit());
        case fb::Body::StateQuery:
            return StateQuery{};
        case fb::Body::StateOffer: {
            const auto& t = *m.body_as_StateOffer();
            return StateOffer{.digest = unpack<Digest>(*t.digest()), .bytes = t.bytes()};
        }
        case fb::Body::StateRequest:
            return StateRequest{m.body_as_StateRequest()->offset()};
        case fb::Body::StateChunk:
            return unpack(*m.body_as_StateChunk());
        case fb::Body::Leave:
            return Leave{};
        case fb::Body::Finished:
            return Finished{unpack<Digest>(*m.body_as_Finished()->digest())};
        case fb::Body::Refusal: {
            const auto& reason = *m.body_as_Refusal()->reason();
            if (reason.size() > kMaxReasonBytes) return {};
            return Refusal{reason.str()};
        }
        case fb::Body::NONE:
            break;
    }
    return {};
}

}  // namespace

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
    FlatBufferBuilder out(1'024);
    const auto body = std::visit(Packer{out}, message.body);
    const auto run = pack(message.run);
    const auto sender = pack(message.sender);
    // The union's tags follow the order of the variant's alternatives, after NONE.
    const auto tag = static_cast<fb::Body>(message.body.index() + 1);
    out.Finish(fb::CreateMessage(out, &run, message.generation, message.step.value(),
                                 message.sequence, &sender, tag, body));
    auto frame = std::make_shared<Buffer>(kSignatureBytes + out.GetSize());
    DEDLOC_CHECK(frame->size() <= kMaxFrameBytes, "a message fits a frame", frame->size());
    const auto payload = std::span{*frame}.subspan(kSignatureBytes);
    std::memcpy(payload.data(), out.GetBufferPointer(), out.GetSize());
    const Signature signature = key.sign(payload);
    std::copy(signature.begin(), signature.end(), frame->begin());
    return frame;
}

Result<Message, DecodeError> decode(std::span<const std::byte> frame) {
    if (frame.size() > kMaxFrameBytes) return Failure{DecodeError::kTooLarge};
    if (frame.size() <= kSignatureBytes) return Failure{DecodeError::kMalformed};
    // The verifier wants the buffer aligned as a builder leaves it; a caller's span may start
    // anywhere.
    std::vector<std::uint64_t> aligned((frame.size() - kSignatureBytes + 7) / 8);
    const auto payload = frame.subspan(kSignatureBytes);
    std::memcpy(aligned.data(), payload.data(), payload.size());
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(aligned.data());
    flatbuffers::Verifier verifier(bytes, payload.size(), /*max_depth=*/8,
                                   /*max_tables=*/2 * kMaxMembers);
    if (!fb::VerifyMessageBuffer(verifier)) return Failure{DecodeError::kMalformed};
    const fb::Message& table = *fb::GetMessage(bytes);
    const auto sender = unpack<PeerKey>(*table.sender());
    Signature signature;
    std::copy_n(frame.begin(), signature.size(), signature.begin());
    if (!verify(sender, payload, signature)) return Failure{DecodeError::kBadSignature};
    auto body = unpack_body(table);
    if (!body) return Failure{DecodeError::kOutOfBounds};
    Message message{.run = unpack<RunId>(*table.run()),
                    .generation = table.generation(),
                    .step = StepIndex{table.step()},
                    .sequence = table.sequence(),
                    .sender = sender,
                    .body = std::move(*body)};
    if (auto* commit = std::get_if<Commit>(&message.body)) commit->record.step = message.step;
    return message;
}

}  // namespace dedloc::wire
