// Unpacks FlatBuffers tables into values: one body() of Unpacker for each message. FlatBuffers'
// verifier passes over the bytes before any field is read. It checks offsets and lengths but
// neither the alignment of list elements nor our limits, so list() checks both before it copies. A
// fault sets has_failed_; from then on lists stay empty, and the caller drops the value at the end.
#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "messages_generated.h"
#include "peer/wire/limits.hpp"
#include "peer/wire/message_codec.hpp"

namespace dedloc::wire {
namespace {

/// Limits for the verifier, above what any message needs: message, body, record, certificate, and
/// one table for each reducer.
constexpr flatbuffers::uoffset_t kMaxDepth = 8;
constexpr flatbuffers::uoffset_t kMaxTables = 2 * kMaxReducers + 8;

/// The input at an aligned address, as FlatBuffers needs it: copied only if it is not aligned.
class Aligned {
  public:
    explicit Aligned(std::span<const std::byte> bytes) : bytes_(bytes) {
        if (reinterpret_cast<std::uintptr_t>(bytes.data()) % sizeof(std::uint64_t) == 0) return;
        copy_.resize((bytes.size() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
        std::memcpy(copy_.data(), bytes.data(), bytes.size());
        bytes_ = std::as_bytes(std::span{copy_}).first(bytes.size());
    }
    /// The root table, or null if the verifier refuses the bytes.
    template <class Table>
    const Table* root(const char* identifier) const {
        const auto* data = reinterpret_cast<const std::uint8_t*>(bytes_.data());
        flatbuffers::Verifier verifier(data, bytes_.size(), kMaxDepth, kMaxTables);
        if (!verifier.VerifyBuffer<Table>(identifier)) return nullptr;
        return flatbuffers::GetRoot<Table>(data);
    }

    /// Whether the input had to be copied.
    bool is_copy() const { return !copy_.empty(); }

  private:
    std::span<const std::byte> bytes_;
    std::vector<std::uint64_t> copy_;
};

template <class Value>
Value unpacked(const fb::Bytes32& packed) {
    Value value;
    std::memcpy(value.bytes.data(), packed.bytes()->data(), value.bytes.size());
    return value;
}

Signature unpacked(const fb::Bytes64& packed) {
    Signature signature;
    std::memcpy(signature.data(), packed.bytes()->data(), signature.size());
    return signature;
}

Term unpacked(const fb::Term& t) {
    return {.number = t.number(), .coordinator = unpacked<PeerKey>(t.coordinator())};
}

/// `Table` is a record or a plan.
template <class Table>
UpdateScalars scalars_of(const Table& t) {
    return {.learning_rate = t.learning_rate_bits(),
            .first_correction = t.first_correction_bits(),
            .second_correction = t.second_correction_bits()};
}

/// Turns tables into values. A list that exceeds its limit is not copied and makes the result
/// invalid.
class Unpacker {
  public:
    /// Chunks share the owner of the payload instead of copying their elements. Null: they copy.
    explicit Unpacker(const SharedBytes& owner = nullptr) : owner_(owner) {}

    bool has_failed() const { return has_failed_; }

    void require(bool is_good) { has_failed_ = has_failed_ || !is_good; }

    /// One value of `unpack_one` for each element; empty and failed if there are more than `limit`.
    template <class Value, class Packed, class Unpack>
    std::vector<Value> list(const flatbuffers::Vector<Packed>& packed, std::size_t limit,
                            Unpack unpack_one) {
        // The verifier does not check the alignment of elements. The builder does not align empty
        // lists.
        constexpr std::size_t kAlignment = alignof(std::remove_pointer_t<Packed>);
        require(packed.size() <= limit);
        require(packed.size() == 0 ||
                reinterpret_cast<std::uintptr_t>(packed.Data()) % kAlignment == 0);
        std::vector<Value> values;
        if (has_failed_) return values;
        values.reserve(packed.size());
        for (const auto& element : packed) values.push_back(unpack_one(element));
        return values;
    }
    /// A list of plain numbers.
    template <class Value>
    std::vector<Value> list(const flatbuffers::Vector<Value>& packed, std::size_t limit) {
        require(packed.size() <= limit);
        if (has_failed_) return {};
        return {packed.data(), packed.data() + packed.size()};
    }
    /// Numbers shared with the payload, or copied if the payload is more than twice as large.
    template <class Number>
    SharedSlice<Number> slice(const flatbuffers::Vector<Number>& packed, std::size_t limit) {
        const std::size_t bytes = packed.size() * sizeof(Number);
        require(packed.size() <= limit);
        if (has_failed_) return {};
        if (owner_ == nullptr || owner_->size() > 2 * bytes) return list(packed, limit);
        return {owner_, std::span{packed.data(), packed.size()}};
    }
    Elements elements(const fb::Chunk& t) {
        const int lists = (t.elements() != nullptr ? 1 : 0) + (t.halves() != nullptr ? 1 : 0) +
                          (t.bfloats() != nullptr ? 1 : 0) + (t.codes() != nullptr ? 1 : 0);
        require(lists == 1);
        require(t.halves() != nullptr || t.exponent() == 0);
        require((t.codes() != nullptr) == (t.exponents() != nullptr));
        if (has_failed_) return {};
        if (t.elements() != nullptr) return slice(*t.elements(), kChunkElements);
        if (t.halves() != nullptr) {
            return Halves{.bits = slice(*t.halves(), kChunkElements), .exponent = t.exponent()};
        }
        if (t.bfloats() != nullptr) return Bfloats{.bits = slice(*t.bfloats(), kChunkElements)};
        return Int8Blocks{.codes = slice(*t.codes(), kChunkElements),
                          .exponents = slice(*t.exponents(), kChunkElements / kInt8BlockElements)};
    }
    std::string text(const flatbuffers::String& packed, std::size_t limit) {
        require(packed.size() <= limit);
        return has_failed_ ? std::string{} : packed.str();
    }
    Buffer bytes(const flatbuffers::Vector<std::uint8_t>& packed, std::size_t limit) {
        require(packed.size() <= limit);
        const auto* first = reinterpret_cast<const std::byte*>(packed.data());
        return has_failed_ ? Buffer{} : Buffer{first, first + packed.size()};
    }
    bool yes_or_no(std::uint8_t byte) {
        require(byte <= 1);
        return byte == 1;
    }
    std::vector<Digest> leaves(const flatbuffers::Vector<const fb::Bytes32*>& packed) {
        return list<Digest>(packed, kMaxOfferedLeaves,
                            [](const fb::Bytes32* d) { return unpacked<Digest>(*d); });
    }
    CommitRecord record(const fb::CommitRecord& t) {
        CommitRecord record{.generation = t.generation(),
                            .step = StepIndex{t.step()},
                            .previous_record = unpacked<Digest>(*t.previous_record()),
                            .previous_state = unpacked<Digest>(*t.previous_state()),
                            .members = {},
                            .average = unpacked<Digest>(*t.average()),
                            .scalars = scalars_of(t)};
        record.members = list<CommitLine>(*t.members(), kMaxMembers, [](const fb::Line* line) {
            return CommitLine{.peer = unpacked<PeerKey>(line->peer()),
                              .samples = Samples{line->samples()},
                              .loss_sum = line->loss_sum(),
                              .reduced = line->reduced()};
        });
        return record;
    }
    std::optional<CommitRecord> record(const fb::CommitRecord* t) {
        return t == nullptr ? std::nullopt : std::optional{record(*t)};
    }
    std::vector<Vote> votes(const flatbuffers::Vector<const fb::Vote*>& packed) {
        return list<Vote>(packed, kMaxVoters, [](const fb::Vote* vote) {
            return Vote{.voter = unpacked<PeerKey>(vote->voter()),
                        .signature = unpacked(vote->signature())};
        });
    }
    Certificate certificate(const fb::Certificate& t) {
        return {.term = unpacked(*t.term()), .votes = votes(*t.votes())};
    }
    SignedGeneration generation(const fb::SignedGeneration& t) {
        return {.record = {.generation = t.generation(),
                           .step = StepIndex{t.step()},
                           .state = unpacked<Digest>(*t.state()),
                           .voters = list<PeerKey>(
                               *t.voters(), kMaxVoters,
                               [](const fb::Bytes32* key) { return unpacked<PeerKey>(*key); })},
                .signature = unpacked(*t.signature())};
    }

    // One function for each body.

    Body body(const fb::Challenge& t) { return Challenge{unpacked<Digest>(*t.nonce())}; }
    Body body(const fb::Hello& t) {
        require(t.role() <= fb::Role::MAX);
        return Hello{.oldest_protocol = t.oldest_protocol(),
                     .newest_protocol = t.newest_protocol(),
                     .session = t.session(),
                     .role = static_cast<Role>(t.role()),
                     .receives = t.receives(),
                     .listening_port = t.listening_port(),
                     .result_name = text(*t.result_name(), kMaxResultNameBytes),
                     .nonce = unpacked<Digest>(*t.nonce())};
    }
    Body body(const fb::Leave&) { return Leave{}; }
    Body body(const fb::Refusal& t) { return Refusal{text(*t.reason(), kMaxReasonBytes)}; }
    Body body(const fb::Heartbeat& t) {
        const auto port = t.listening_port();
        return Heartbeat{.has_state = t.has_state(),
                         .state = unpacked<Digest>(*t.state()),
                         .record = unpacked<Digest>(*t.record()),
                         .samples = Samples{t.samples()},
                         .samples_per_second = t.samples_per_second(),
                         .upload = known_bandwidth(t.upload_bytes_per_second()),
                         .download = known_bandwidth(t.download_bytes_per_second()),
                         .is_frozen = t.is_frozen(),
                         .may_vote = t.may_vote(),
                         .term = unpacked(*t.term()),
                         .attempt = t.attempt(),
                         .pause_count = t.pause_count(),
                         .listening_port = port ? std::optional{*port} : std::nullopt,
                         .round = std::chrono::milliseconds{t.round_ms()}};
    }
    Body body(const fb::Generation& t) { return Generation{generation(*t.generation())}; }
    Body body(const fb::Elect& t) { return Elect{unpacked(*t.term())}; }
    Body body(const fb::Promise& t) {
        return Promise{.term = unpacked(*t.term()),
                       .granted = t.granted(),
                       .promised = unpacked(*t.promised()),
                       .accepted_in = unpacked(*t.accepted_in()),
                       .accepted = record(t.accepted())};
    }
    Body body(const fb::Call& t) { return Call{unpacked(*t.term())}; }
    Body body(const fb::Join& t) {
        return Join{.term = unpacked(*t.term()),
                    .contribution_id = t.contribution_id(),
                    .samples = Samples{t.samples()},
                    .loss_sum = t.loss_sum(),
                    .is_finite = t.is_finite(),
                    .receives = t.receives(),
                    .state = unpacked<Digest>(*t.state()),
                    .upload = known_bandwidth(t.upload_bytes_per_second()),
                    .download = known_bandwidth(t.download_bytes_per_second()),
                    .exponent = t.exponent()};
    }
    std::vector<ChunkRange> ranges(const flatbuffers::Vector<const fb::Range*>& packed) {
        return list<ChunkRange>(packed, kMaxRanges, [](const fb::Range* range) {
            return ChunkRange{.member = PeerIndex{range->member()},
                              .first_chunk = range->first_chunk(),
                              .last_chunk = range->last_chunk()};
        });
    }
    std::vector<ReducerEndpoint> reducers(
        const flatbuffers::Vector<flatbuffers::Offset<fb::Reducer>>& packed) {
        return list<ReducerEndpoint>(packed, kMaxReducers, [this](const fb::Reducer* reducer) {
            return ReducerEndpoint{.member = PeerIndex{reducer->member()},
                                   .endpoint = {.host = text(*reducer->host(), kMaxHostBytes),
                                                .port = reducer->port()}};
        });
    }
    Body body(const fb::Plan& t);
    Body body(const fb::PlanChange& t);
    Body body(const fb::PlanQuery& t) {
        return PlanQuery{.term = unpacked(*t.term()), .attempt = t.attempt()};
    }
    Body body(const fb::SliceQuery& t);
    Body body(const fb::Cancel& t) { return Cancel{unpacked(*t.term())}; }
    Body body(const fb::Chunk& t) {
        require(t.phase() <= fb::Phase::MAX);
        return Chunk{.phase = static_cast<Phase>(t.phase()),
                     .sum_id = t.sum_id(),
                     .chunk = t.chunk(),
                     .chunk_elements = t.chunk_elements(),
                     .elements = elements(t)};
    }
    Body body(const fb::Reduced& t) {
        return Reduced{.term = unpacked(*t.term()), .attempt = t.attempt()};
    }
    Body body(const fb::Stalled& t) {
        return Stalled{.term = unpacked(*t.term()),
                       .attempt = t.attempt(),
                       .senders = list(*t.senders(), kMaxMembers),
                       .reducers = list(*t.reducers(), kMaxMembers),
                       .refused = list(*t.refused(), kMaxMembers)};
    }
    Body body(const fb::Ready& t) {
        return Ready{.term = unpacked(*t.term()),
                     .attempt = t.attempt(),
                     .average = unpacked<Digest>(*t.average())};
    }
    Body body(const fb::Propose& t) {
        return Propose{.term = unpacked(*t.term()),
                       .attempt = t.attempt(),
                       .digest = unpacked<Digest>(*t.digest()),
                       .average = unpacked<Digest>(*t.average()),
                       .previous_state = unpacked<Digest>(*t.previous_state()),
                       .record = record(t.record())};
    }
    Body body(const fb::Accept& t) {
        return Accept{.term = unpacked(*t.term()),
                      .digest = unpacked<Digest>(*t.digest()),
                      .signature = unpacked(*t.signature())};
    }
    Body body(const fb::Commit& t) {
        return Commit{.digest = unpacked<Digest>(*t.digest()),
                      .certificate = certificate(*t.certificate()),
                      .attempt = t.attempt(),
                      .average = unpacked<Digest>(*t.average()),
                      .previous_state = unpacked<Digest>(*t.previous_state()),
                      .record = record(t.record())};
    }
    Body body(const fb::StateVotes& t) {
        return StateVotes{.record = unpacked<Digest>(*t.record()),
                          .state = unpacked<Digest>(*t.state()),
                          .votes = votes(*t.votes())};
    }
    Body body(const fb::CommitQuery&) { return CommitQuery{}; }
    Body body(const fb::StateQuery& t) { return StateQuery{t.has_state()}; }
    Body body(const fb::StateOffer& t) {
        return StateOffer{.bytes = t.bytes(),
                          .leaves = leaves(*t.leaves()),
                          .record = unpacked<Digest>(*t.record()),
                          .votes = votes(*t.votes())};
    }
    Body body(const fb::RoundOffer& t) {
        return RoundOffer{.record = record(*t.record()),
                          .certificate = certificate(*t.certificate()),
                          .leaves = leaves(*t.leaves())};
    }
    Body body(const fb::LeafRequest& t) {
        return LeafRequest{.root = unpacked<Digest>(*t.root()), .leaf = t.leaf()};
    }
    Body body(const fb::Leaf& t) {
        return Leaf{.root = unpacked<Digest>(*t.root()),
                    .leaf = t.leaf(),
                    .data = bytes(*t.data(), kLeafBytes)};
    }
    Body body(const fb::Relay& t) { return Relay{bytes(*t.frame(), kMaxRelayedBytes)}; }
    Body body(const fb::Pause& t) {
        return Pause{{.count = t.count(), .signature = unpacked(*t.signature())}};
    }
    Body body(const fb::RevocationList& t) {
        return RevocationList{bytes(*t.list(), kMaxRevocationsBytes)};
    }
    Body body(const fb::Assignment& t) {
        return Assignment{.term = unpacked(*t.term()),
                          .attendance = static_cast<Attendance>(t.attendance()),
                          .every = t.every(),
                          .speed_with = t.speed_with(),
                          .speed_now = t.speed_now()};
    }

  private:
    SharedBytes owner_;
    bool has_failed_ = false;
};

Body Unpacker::body(const fb::Plan& t) {
    Plan plan{.term = unpacked(*t.term()),
              .attempt = t.attempt(),
              .elements = t.elements(),
              .chunk_elements = t.chunk_elements(),
              .scalars = scalars_of(t),
              .members = {},
              .ranges = {},
              .reducers = {},
              .relays = {},
              .expected = std::chrono::milliseconds{t.expected_ms()}};
    require(t.contribution_ids()->size() == t.members()->size());
    require(t.receives()->size() == t.members()->size());
    require(t.exponents()->size() == t.members()->size());
    plan.members = list<PlanMember>(*t.members(), kMaxMembers, [](const fb::Member* line) {
        return PlanMember{.peer = unpacked<PeerKey>(line->peer()),
                          .samples = Samples{line->samples()},
                          .loss_sum = line->loss_sum()};
    });
    for (flatbuffers::uoffset_t i = 0; i < plan.members.size(); ++i) {
        plan.members[i].contribution_id = t.contribution_ids()->Get(i);
        plan.members[i].receives = yes_or_no(t.receives()->Get(i));
        plan.members[i].exponent = t.exponents()->Get(i);
    }
    plan.ranges = ranges(*t.ranges());
    plan.reducers = reducers(*t.reducers());
    plan.relays = list(*t.relays(), kMaxReducers);
    return plan;
}

Body Unpacker::body(const fb::PlanChange& t) {
    return PlanChange{.term = unpacked(*t.term()),
                      .attempt = t.attempt(),
                      .base = t.base(),
                      .removed = list(*t.removed(), kMaxMembers),
                      .ranges = ranges(*t.ranges()),
                      .reducers = reducers(*t.reducers()),
                      .relays = list(*t.relays(), kMaxReducers),
                      .digest = unpacked<Digest>(*t.digest())};
}

Body Unpacker::body(const fb::SliceQuery& t) {
    return SliceQuery{.sum_id = t.sum_id(),
                      .chunk_elements = t.chunk_elements(),
                      .chunks = list<ChunkSpan>(*t.chunks(), kMaxRanges, [](const fb::Span* span) {
                          return ChunkSpan{.first_chunk = span->first_chunk(),
                                           .last_chunk = span->last_chunk()};
                      })};
}

/// Calls `use` with the body's table if it is one of `Tables`; false otherwise.
template <class... Tables, class Use>
bool with_body_of(const fb::Message& m, Use use) {
    const auto is_this = [&]<class Table>(const Table* body) {
        if (m.body_type() != fb::BodyTraits<Table>::enum_value) return false;
        use(*body);
        return true;
    };
    return (is_this(m.body_as<Tables>()) || ...);
}

template <class Use>
bool with_body(const fb::Message& m, Use use) {
    return with_body_of<fb::Challenge, fb::Hello, fb::Leave, fb::Refusal, fb::Heartbeat,
                        fb::Generation, fb::Elect, fb::Promise, fb::Call, fb::Join, fb::Plan,
                        fb::Cancel, fb::Chunk, fb::Reduced, fb::Stalled, fb::Ready, fb::Propose,
                        fb::Accept, fb::Commit, fb::StateVotes, fb::CommitQuery, fb::StateQuery,
                        fb::StateOffer, fb::RoundOffer, fb::LeafRequest, fb::Leaf, fb::Relay,
                        fb::Pause, fb::RevocationList, fb::Assignment, fb::PlanChange,
                        fb::PlanQuery, fb::SliceQuery>(m, use);
}

}  // namespace

Result<Message, DecodeError> unpack(std::span<const std::byte> payload, const SharedBytes& owner) {
    const Aligned bytes(payload);
    const auto* table = bytes.root<fb::Message>(nullptr);
    if (table == nullptr) return Failure{DecodeError::kMalformed};
    Message message{.run = unpacked<RunId>(*table->run()),
                    .generation = table->generation(),
                    .step = StepIndex{table->step()},
                    .sequence = table->sequence(),
                    .sender = unpacked<PeerKey>(*table->sender()),
                    .body = {}};
    Unpacker unpacker(bytes.is_copy() ? nullptr : owner);
    const bool is_known =
        with_body(*table, [&](const auto& body) { message.body = unpacker.body(body); });
    if (!is_known) return Failure{DecodeError::kMalformed};
    if (unpacker.has_failed()) return Failure{DecodeError::kOutOfBounds};
    return message;
}

std::optional<std::size_t> packed_body_index(std::span<const std::byte> payload) {
    const Aligned bytes(payload);
    const auto* table = bytes.root<fb::Message>(nullptr);
    if (table == nullptr) return std::nullopt;
    // Value 0 of the union is NONE.
    const auto type = static_cast<std::size_t>(table->body_type());
    if (type == 0 || type > std::variant_size_v<BodyKinds>) return std::nullopt;
    return type - 1;
}

std::optional<VoterState> unpack_voter_state(std::span<const std::byte> input) {
    const Aligned bytes(input);
    const auto* table = bytes.root<fb::VoterState>(kVoterStateIdentifier);
    if (table == nullptr) return std::nullopt;
    Unpacker unpacker;
    VoterState state{.generation = table->generation(),
                     .step = StepIndex{table->step()},
                     .may_vote = table->may_vote(),
                     .promised = unpacked(*table->promised()),
                     .accepted_in = unpacked(*table->accepted_in()),
                     .accepted = unpacker.record(table->accepted()),
                     .state = {}};
    if (table->state() != nullptr) state.state = unpacked<Digest>(*table->state());
    if (unpacker.has_failed()) return std::nullopt;
    return state;
}

std::optional<SignedGeneration> unpack_generation(std::span<const std::byte> input) {
    const Aligned bytes(input);
    const auto* table = bytes.root<fb::Generation>(kGenerationIdentifier);
    if (table == nullptr) return std::nullopt;
    Unpacker unpacker;
    auto generation = unpacker.generation(*table->generation());
    if (unpacker.has_failed()) return std::nullopt;
    return generation;
}

std::optional<Decision> unpack_decision(std::span<const std::byte> input) {
    const Aligned bytes(input);
    const auto* table = bytes.root<fb::Decision>(kDecisionIdentifier);
    if (table == nullptr) return std::nullopt;
    Unpacker unpacker;
    Decision decision{.record = unpacker.record(*table->record()),
                      .certificate = unpacker.certificate(*table->certificate())};
    if (unpacker.has_failed()) return std::nullopt;
    return decision;
}

}  // namespace dedloc::wire
