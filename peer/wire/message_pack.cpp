// Packs values into FlatBuffers tables: one operator of Packer for each message. FlatBuffers builds
// from the back and does not allow nested tables, so each operator creates lists, strings and inner
// tables before the table that refers to them. Bulk (elements of a chunk, data of a leaf or relayed
// frame) gets an uninitialized vector at first; packed() then splits the built bytes around it, so
// that packing never copies a chunk's elements and copies other bulk once.
#include <flatbuffers/flatbuffers.h>

#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "messages_generated.h"
#include "peer/wire/message_codec.hpp"

namespace dedloc::wire {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

template <class T>
using Vector = Offset<flatbuffers::Vector<T>>;

template <class Tag>
fb::Bytes32 packed(const Bytes32<Tag>& value) {
    std::array<std::uint8_t, 32> bytes;
    std::memcpy(bytes.data(), value.bytes.data(), bytes.size());
    return fb::Bytes32{flatbuffers::span<const std::uint8_t, 32>{bytes}};
}

fb::Bytes64 packed(const Signature& signature) {
    std::array<std::uint8_t, 64> bytes;
    std::memcpy(bytes.data(), signature.data(), bytes.size());
    return fb::Bytes64{flatbuffers::span<const std::uint8_t, 64>{bytes}};
}

fb::Term packed(const Term& term) {
    return {term.number, packed(term.coordinator)};
}

/// 0 if it is unknown.
std::uint64_t packed(std::optional<Bandwidth> bandwidth) {
    return bandwidth.value_or(Bandwidth{0}).value();
}

fb::Member packed(const PlanMember& member) {
    return {packed(member.peer), member.samples.value(), member.loss_sum};
}
fb::Line packed(const CommitLine& line) {
    return {packed(line.peer), line.samples.value(), line.loss_sum, line.reduced};
}

/// A list with one struct or number for each value.
template <class Packed, class Value, class Pack>
std::vector<Packed> packed_list(const std::vector<Value>& values, Pack pack_one) {
    std::vector<Packed> list;
    list.reserve(values.size());
    for (const Value& value : values) list.push_back(pack_one(value));
    return list;
}

std::uint8_t as_byte(bool value) {
    return value ? 1 : 0;
}

/// The bulk of a body. The builder reserves space for it and never sees its bytes.
struct Bulk {
    std::span<const std::byte> bytes;  // all bulk bytes
    std::size_t from_end = 0;          // where they begin, counted from the end of the built bytes
    SharedSlice<std::byte> shared;     // the same bytes if they can be shared; empty: copy them
};

/// Builds the table of a body in `out`, after everything that the table refers to.
struct Packer {
    FlatBufferBuilder& out;
    Bulk& bulk;

    /// Reserves space for bulk as a list without writing its elements.
    template <class Element>
    Vector<Element> uninitialized(std::span<const std::byte> bytes) const {
        std::uint8_t* unused = nullptr;
        const Offset<flatbuffers::Vector<Element>> list{out.CreateUninitializedVector(
            bytes.size() / sizeof(Element), sizeof(Element), &unused)};
        bulk = {.bytes = bytes, .from_end = list.o - sizeof(flatbuffers::uoffset_t), .shared = {}};
        return list;
    }
    /// The same for numbers that the frame shares instead of copying them.
    template <class Number>
    Vector<Number> shared(const SharedSlice<Number>& numbers) const {
        const auto list = uninitialized<Number>(std::as_bytes(numbers.values()));
        bulk.shared = numbers.bytes();
        return list;
    }

    template <class Value>
    Vector<const fb::Bytes32*> digests(const std::vector<Value>& values) const {
        return out.CreateVectorOfStructs(
            packed_list<fb::Bytes32>(values, [](const Value& d) { return packed(d); }));
    }
    Vector<const fb::Vote*> votes(const std::vector<Vote>& values) const {
        return out.CreateVectorOfStructs(packed_list<fb::Vote>(values, [](const Vote& vote) {
            return fb::Vote{packed(vote.voter), packed(vote.signature)};
        }));
    }
    Offset<fb::SignedGeneration> generation(const SignedGeneration& m) const {
        const auto voters = digests(m.record.voters);
        const auto state = packed(m.record.state);
        const auto signature = packed(m.signature);
        return fb::CreateSignedGeneration(out, m.record.generation, m.record.step.value(), &state,
                                          voters, &signature);
    }
    Offset<fb::CommitRecord> record(const CommitRecord& m) const {
        const auto members = out.CreateVectorOfStructs(
            packed_list<fb::Line>(m.members, [](const CommitLine& l) { return packed(l); }));
        const auto previous_record = packed(m.previous_record);
        const auto previous_state = packed(m.previous_state);
        const auto average = packed(m.average);
        return fb::CreateCommitRecord(out, m.generation, m.step.value(), &previous_record,
                                      &previous_state, members, &average, m.scalars.learning_rate,
                                      m.scalars.first_correction, m.scalars.second_correction);
    }
    /// An absent record becomes offset 0, which FlatBuffers reads as an absent field.
    Offset<fb::CommitRecord> record(const std::optional<CommitRecord>& m) const {
        return m ? record(*m) : Offset<fb::CommitRecord>{};
    }
    Offset<fb::Certificate> certificate(const Certificate& m) const {
        const auto packed_votes = votes(m.votes);
        const auto term = packed(m.term);
        return fb::CreateCertificate(out, &term, packed_votes);
    }

    // One operator for each body.

    Offset<void> operator()(const Challenge& m) const {
        const auto nonce = packed(m.nonce);
        return fb::CreateChallenge(out, &nonce).Union();
    }
    Offset<void> operator()(const Hello& m) const {
        const auto nonce = packed(m.nonce);
        const auto name = out.CreateString(m.result_name);
        return fb::CreateHello(out, m.oldest_protocol, m.newest_protocol, m.session,
                               static_cast<fb::Role>(m.role), m.receives, m.listening_port, name,
                               &nonce)
            .Union();
    }
    Offset<void> operator()(const Leave&) const { return fb::CreateLeave(out).Union(); }
    Offset<void> operator()(const Refusal& m) const {
        return fb::CreateRefusal(out, out.CreateString(m.reason)).Union();
    }
    Offset<void> operator()(const Heartbeat& m) const {
        const auto state = packed(m.state);
        const auto head = packed(m.record);
        const auto term = packed(m.term);
        flatbuffers::Optional<std::uint16_t> port = flatbuffers::nullopt;
        if (m.listening_port) port = *m.listening_port;
        return fb::CreateHeartbeat(out, m.has_state, &state, &head, m.samples.value(),
                                   m.samples_per_second, packed(m.upload), packed(m.download),
                                   m.is_frozen, m.may_vote, &term, m.attempt, m.pause_count, port,
                                   static_cast<std::uint32_t>(m.round.count()))
            .Union();
    }
    Offset<void> operator()(const Generation& m) const {
        return fb::CreateGeneration(out, generation(m.generation)).Union();
    }
    Offset<void> operator()(const Elect& m) const {
        const auto term = packed(m.term);
        return fb::CreateElect(out, &term).Union();
    }
    Offset<void> operator()(const Promise& m) const {
        const auto accepted = record(m.accepted);
        const auto term = packed(m.term);
        const auto promised = packed(m.promised);
        const auto accepted_in = packed(m.accepted_in);
        return fb::CreatePromise(out, &term, m.granted, &promised, &accepted_in, accepted).Union();
    }
    Offset<void> operator()(const Call& m) const {
        const auto term = packed(m.term);
        return fb::CreateCall(out, &term).Union();
    }
    Offset<void> operator()(const Join& m) const {
        const auto term = packed(m.term);
        const auto state = packed(m.state);
        return fb::CreateJoin(out, &term, m.contribution_id, m.samples.value(), m.loss_sum,
                              m.is_finite, m.receives, &state, packed(m.upload), packed(m.download),
                              m.exponent)
            .Union();
    }
    Offset<void> operator()(const Plan& m) const { return plan(m).Union(); }
    Vector<const fb::Range*> packed_ranges(const std::vector<ChunkRange>& ranges) const {
        return out.CreateVectorOfStructs(packed_list<fb::Range>(ranges, [](const ChunkRange& r) {
            return fb::Range{r.member.value(), r.first_chunk, r.last_chunk};
        }));
    }
    Vector<Offset<fb::Reducer>> packed_reducers(const std::vector<ReducerEndpoint>& all) const {
        std::vector<Offset<fb::Reducer>> reducers;
        reducers.reserve(all.size());
        for (const ReducerEndpoint& reducer : all) {
            const auto host = out.CreateString(reducer.endpoint.host);
            reducers.push_back(
                fb::CreateReducer(out, reducer.member.value(), host, reducer.endpoint.port));
        }
        return out.CreateVector(reducers);
    }
    Offset<fb::Plan> plan(const Plan& m) const {
        const auto members = out.CreateVectorOfStructs(
            packed_list<fb::Member>(m.members, [](const PlanMember& p) { return packed(p); }));
        const auto freezes = out.CreateVector(packed_list<std::uint32_t>(
            m.members, [](const PlanMember& p) { return p.contribution_id; }));
        const auto receives = out.CreateVector(packed_list<std::uint8_t>(
            m.members, [](const PlanMember& p) { return as_byte(p.receives); }));
        const auto exponents = out.CreateVector(
            packed_list<std::uint8_t>(m.members, [](const PlanMember& p) { return p.exponent; }));
        const auto ranges = packed_ranges(m.ranges);
        const auto reducers = packed_reducers(m.reducers);
        const auto relays = out.CreateVector(m.relays);
        const auto term = packed(m.term);
        return fb::CreatePlan(
            out, &term, m.attempt, m.elements, m.chunk_elements, m.scalars.learning_rate,
            m.scalars.first_correction, m.scalars.second_correction, members, freezes, receives,
            exponents, ranges, reducers, relays, static_cast<std::uint32_t>(m.expected.count()));
    }
    Offset<void> operator()(const Cancel& m) const {
        const auto term = packed(m.term);
        return fb::CreateCancel(out, &term).Union();
    }
    Offset<void> operator()(const Chunk& m) const {
        Vector<float> elements;
        Vector<std::uint16_t> halves;
        Vector<std::uint16_t> bfloats;
        Vector<std::int8_t> codes;
        Vector<std::uint8_t> exponents;
        std::uint8_t exponent = 0;
        if (const auto* floats = std::get_if<SharedSlice<float>>(&m.elements)) {
            elements = shared(*floats);
        } else if (const auto* rounded = std::get_if<Halves>(&m.elements)) {
            halves = shared(rounded->bits);
            exponent = rounded->exponent;
        } else if (const auto* upper = std::get_if<Bfloats>(&m.elements)) {
            bfloats = shared(upper->bits);
        } else {
            const auto& blocks = std::get<Int8Blocks>(m.elements);
            const auto scales = blocks.exponents.values();
            exponents = out.CreateVector(scales.data(), scales.size());
            codes = shared(blocks.codes);
        }
        return fb::CreateChunk(out, static_cast<fb::Phase>(m.phase), m.sum_id, m.chunk,
                               m.chunk_elements, elements, halves, exponent, bfloats, codes,
                               exponents)
            .Union();
    }
    Offset<void> operator()(const Reduced& m) const {
        const auto term = packed(m.term);
        return fb::CreateReduced(out, &term, m.attempt).Union();
    }
    Offset<void> operator()(const Stalled& m) const {
        const auto senders = out.CreateVector(m.senders);
        const auto reducers = out.CreateVector(m.reducers);
        const auto refused = out.CreateVector(m.refused);
        const auto term = packed(m.term);
        return fb::CreateStalled(out, &term, m.attempt, senders, reducers, refused).Union();
    }
    Offset<void> operator()(const Ready& m) const {
        const auto term = packed(m.term);
        const auto average = packed(m.average);
        return fb::CreateReady(out, &term, m.attempt, &average).Union();
    }
    Offset<void> operator()(const Propose& m) const {
        const auto whole = record(m.record);
        const auto term = packed(m.term);
        const auto digest = packed(m.digest);
        const auto average = packed(m.average);
        const auto previous = packed(m.previous_state);
        return fb::CreatePropose(out, &term, m.attempt, &digest, &average, &previous, whole)
            .Union();
    }
    Offset<void> operator()(const Accept& m) const {
        const auto term = packed(m.term);
        const auto digest = packed(m.digest);
        const auto signature = packed(m.signature);
        return fb::CreateAccept(out, &term, &digest, &signature).Union();
    }
    Offset<void> operator()(const Commit& m) const {
        const auto proof = certificate(m.certificate);
        const auto whole = record(m.record);
        const auto digest = packed(m.digest);
        const auto average = packed(m.average);
        const auto previous = packed(m.previous_state);
        return fb::CreateCommit(out, &digest, proof, m.attempt, &average, &previous, whole).Union();
    }
    Offset<void> operator()(const StateVotes& m) const {
        const auto packed_votes = votes(m.votes);
        const auto head = packed(m.record);
        const auto state = packed(m.state);
        return fb::CreateStateVotes(out, &head, &state, packed_votes).Union();
    }
    Offset<void> operator()(const CommitQuery&) const { return fb::CreateCommitQuery(out).Union(); }
    Offset<void> operator()(const StateQuery& m) const {
        return fb::CreateStateQuery(out, m.has_state).Union();
    }
    Offset<void> operator()(const StateOffer& m) const {
        const auto leaves = digests(m.leaves);
        const auto packed_votes = votes(m.votes);
        const auto head = packed(m.record);
        return fb::CreateStateOffer(out, m.bytes, leaves, &head, packed_votes).Union();
    }
    Offset<void> operator()(const RoundOffer& m) const {
        const auto whole = record(m.record);
        const auto proof = certificate(m.certificate);
        const auto leaves = digests(m.leaves);
        return fb::CreateRoundOffer(out, whole, proof, leaves).Union();
    }
    Offset<void> operator()(const LeafRequest& m) const {
        const auto root = packed(m.root);
        return fb::CreateLeafRequest(out, &root, m.leaf).Union();
    }
    Offset<void> operator()(const Leaf& m) const {
        const auto data = uninitialized<std::uint8_t>(m.data);
        const auto root = packed(m.root);
        return fb::CreateLeaf(out, &root, m.leaf, data).Union();
    }
    Offset<void> operator()(const Relay& m) const {
        const auto frame = uninitialized<std::uint8_t>(m.frame);
        return fb::CreateRelay(out, frame).Union();
    }
    Offset<void> operator()(const Pause& m) const {
        const auto signature = packed(m.pause.signature);
        return fb::CreatePause(out, m.pause.count, &signature).Union();
    }
    Offset<void> operator()(const RevocationList& m) const {
        const auto list = uninitialized<std::uint8_t>(m.list);
        return fb::CreateRevocationList(out, list).Union();
    }
    Offset<void> operator()(const Assignment& m) const {
        const auto term = packed(m.term);
        return fb::CreateAssignment(out, &term, static_cast<fb::Attendance>(m.attendance), m.every,
                                    m.speed_with, m.speed_now)
            .Union();
    }
    Offset<void> operator()(const PlanChange& m) const {
        const auto removed = out.CreateVector(m.removed);
        const auto ranges = packed_ranges(m.ranges);
        const auto reducers = packed_reducers(m.reducers);
        const auto relays = out.CreateVector(m.relays);
        const auto term = packed(m.term);
        const auto digest = packed(m.digest);
        return fb::CreatePlanChange(out, &term, m.attempt, m.base, removed, ranges, reducers,
                                    relays, &digest)
            .Union();
    }
    Offset<void> operator()(const PlanQuery& m) const {
        const auto term = packed(m.term);
        return fb::CreatePlanQuery(out, &term, m.attempt).Union();
    }
    Offset<void> operator()(const SliceQuery& m) const {
        const auto chunks =
            out.CreateVectorOfStructs(packed_list<fb::Span>(m.chunks, [](const ChunkSpan& span) {
                return fb::Span{span.first_chunk, span.last_chunk};
            }));
        return fb::CreateSliceQuery(out, m.sum_id, m.chunk_elements, chunks).Union();
    }
};

Packed packed(const FlatBufferBuilder& out, const Bulk& bulk, std::size_t head_bytes) {
    const auto built = std::as_bytes(std::span{out.GetBufferPointer(), out.GetSize()});
    const auto before = built.first(built.size() - bulk.from_end);
    const auto after = built.last(bulk.from_end - bulk.bytes.size());
    const auto copied = bulk.shared.empty() ? bulk.bytes : bulk.bytes.first(0);
    Buffer bytes;
    bytes.reserve(head_bytes + before.size() + copied.size() + after.size());
    bytes.resize(head_bytes);
    for (const auto& part : {before, copied, after}) {
        bytes.insert(bytes.end(), part.begin(), part.end());
    }
    return {.around = std::move(bytes), .bulk_at = head_bytes + before.size(), .bulk = bulk.shared};
}

Buffer built_bytes(const FlatBufferBuilder& out) {
    return packed(out, {}, 0).around;
}

/// Initial size of the builder: enough for the bulk, so that the builder need not grow and copy.
std::size_t size_hint(const Body& body) {
    constexpr std::size_t kRest = 1'024;
    if (const auto* chunk = std::get_if<Chunk>(&body)) {
        return count_of(chunk->elements) * sizeof(float) + kRest;
    }
    if (const auto* leaf = std::get_if<Leaf>(&body)) return leaf->data.size() + kRest;
    if (const auto* relay = std::get_if<Relay>(&body)) return relay->frame.size() + kRest;
    return kRest;
}

}  // namespace

Packed pack(const Message& message, std::size_t head_bytes) {
    FlatBufferBuilder out(size_hint(message.body));
    Bulk bulk;
    const auto body = std::visit(Packer{out, bulk}, message.body);
    const auto run = packed(message.run);
    const auto sender = packed(message.sender);
    // The union has the variant's alternatives in the same order, after NONE.
    static_assert(static_cast<std::size_t>(fb::Body::MAX) == std::variant_size_v<BodyKinds>);
    const auto tag = static_cast<fb::Body>(message.body.index() + 1);
    out.Finish(fb::CreateMessage(out, &run, message.generation, message.step.value(),
                                 message.sequence, &sender, tag, body));
    return packed(out, bulk, head_bytes);
}

Buffer pack(const Plan& plan) {
    FlatBufferBuilder out(1'024);
    Bulk none;
    out.Finish(Packer{out, none}.plan(plan));
    return built_bytes(out);
}

Buffer pack(const VoterState& state) {
    FlatBufferBuilder out(1'024);
    Bulk none;
    const auto accepted = Packer{out, none}.record(state.accepted);
    const auto promised = packed(state.promised);
    const auto accepted_in = packed(state.accepted_in);
    const auto signed_state = packed(state.state.value_or(Digest{}));
    out.Finish(
        fb::CreateVoterState(out, state.generation, state.step.value(), state.may_vote, &promised,
                             &accepted_in, accepted, state.state ? &signed_state : nullptr),
        kVoterStateIdentifier);
    return built_bytes(out);
}

Buffer pack(const SignedGeneration& generation) {
    FlatBufferBuilder out(1'024);
    Bulk none;
    const auto record = Packer{out, none}.generation(generation);
    out.Finish(fb::CreateGeneration(out, record), kGenerationIdentifier);
    return built_bytes(out);
}

Buffer pack(const Decision& decision) {
    FlatBufferBuilder out(1'024);
    Bulk none;
    const Packer packer{out, none};
    const auto record = packer.record(decision.record);
    const auto certificate = packer.certificate(decision.certificate);
    out.Finish(fb::CreateDecision(out, record, certificate), kDecisionIdentifier);
    return built_bytes(out);
}

}  // namespace dedloc::wire
