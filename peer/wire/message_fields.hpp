// The fields of every table on the wire: the one description that packing, unpacking and bounds
// follow. fields(m) lists the fields of a message or record in the order of messages.fbs. How a
// field travels follows from its type; up_to() and column() add what the type does not say.
//
// Number  a bool, integer, double, enumerator, unit or duration
// Struct  bytes inside the table, the same as in memory
// Table   any type that has fields(); may be absent if it is in a std::optional
// List    a std::vector of numbers, structs or tables, a Buffer or a std::string; up_to() its limit
//
// Only message_pack.cpp, message_unpack.cpp and message_bounds.cpp include this.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "peer/wire/limits.hpp"
#include "peer/wire/message.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::wire {

// --- kinds of fields -----------------------------------------------------------

/// The number that a value is on the wire.
template <class T>
requires std::is_arithmetic_v<T>
constexpr auto number_of(T value) {
    if constexpr (std::same_as<T, bool>) {
        return static_cast<std::uint8_t>(value);
    } else {
        return value;
    }
}
template <class Enum>
requires std::is_enum_v<Enum>
constexpr auto number_of(Enum value) {
    return static_cast<std::underlying_type_t<Enum>>(value);
}
template <class Tag, class Rep>
constexpr Rep number_of(Strong<Tag, Rep> value) {
    return value.value();
}
constexpr std::uint32_t number_of(std::chrono::milliseconds value) {
    return static_cast<std::uint32_t>(value.count());
}
/// 0 if it is unknown.
constexpr std::uint64_t number_of(std::optional<Bandwidth> value) {
    return value.value_or(Bandwidth{0}).value();
}
/// What travels as a number.
template <class T>
concept Number = requires(const T& value) {
    number_of(value);
};
/// The value that this number is.
template <Number T>
constexpr T value_of(decltype(number_of(std::declval<T>())) number) {
    if constexpr (std::same_as<T, std::optional<Bandwidth>>) {
        return known_bandwidth(number);
    } else {
        return static_cast<T>(number);
    }
}

/// Bytes of a struct on the wire; 0 for other types.
template <class T>
inline constexpr std::size_t kStructBytes = 0;
template <class Tag>
inline constexpr std::size_t kStructBytes<Bytes32<Tag>> = kDigestBytes;
template <>
inline constexpr std::size_t kStructBytes<Signature> = kSignatureBytes;
template <>
inline constexpr std::size_t kStructBytes<Term> = 40;
template <>
inline constexpr std::size_t kStructBytes<Vote> = kVoteBytes;
template <>
inline constexpr std::size_t kStructBytes<CommitLine> = kLineBytes;
template <>
inline constexpr std::size_t kStructBytes<ChunkRange> = kRangeBytes;
template <>
inline constexpr std::size_t kStructBytes<ChunkSpan> = 8;
/// Only what comes before the columns of a plan or record.
template <>
inline constexpr std::size_t kStructBytes<PlanMember> = 48;
/// What travels as its bytes in memory, which are little-endian (bytes.hpp).
template <class T>
concept Struct = (kStructBytes<T> != 0);

/// Whether these have the same size in memory.
template <Struct... T>
inline constexpr bool kHaveNoPadding = ((sizeof(T) == kStructBytes<T>)&&...);
static_assert(kHaveNoPadding<Digest, PeerKey, RunId, Signature, Term, Vote, ChunkRange, ChunkSpan>);
static_assert(offsetof(PlanMember, contribution_id) == kStructBytes<PlanMember>);
static_assert(offsetof(CommitLine, added) == kStructBytes<CommitLine>);

// --- entries of the lists ------------------------------------------------------

/// A field that is at most `limit`: the largest number, the last enumerator, or the greatest length
/// of a list.
template <class Value, class Limit>
struct Limited {
    Value& value;  ///< the member
    Limit limit;   ///< as above
};
/// A field with a limit.
template <class Value, class Limit>
Limited<Value, Limit> up_to(Value& value, Limit limit) {
    return {value, limit};
}
/// A list with one number of each row. It comes after the list of the rows and is as long.
template <class Rows, class Member>
struct Column {
    Rows& rows;     ///< a list of structs
    Member number;  ///< a pointer to a member of such a struct
};
/// A column of this list.
template <class Rows, class Member>
Column<Rows, Member> column(Rows& rows, Member number) {
    return {rows, number};
}

/// The same, but absent while all numbers are 0, as in messages of peers that do not know it.
template <class Rows, class Member>
struct RareColumn {
    Column<Rows, Member> column;  ///< the list and the member
};
/// A rare column of this list.
template <class Rows, class Member>
RareColumn<Rows, Member> rare_column(Rows& rows, Member number) {
    return {{rows, number}};
}

/// The fields of a table: references to members, or the above.
template <class... Fields>
std::tuple<Fields...> in_order(Fields&&... fields) {
    return {std::forward<Fields>(fields)...};
}
/// T, or const T.
template <class T, class Plain>
concept Is = std::same_as<std::remove_const_t<T>, Plain>;

// --- records -------------------------------------------------------------------

// The fields of each, as in messages.fbs.
auto fields(Is<SignedGeneration> auto& m) {
    return in_order(up_to(m.record.generation, kMaxGeneration), m.record.step, m.record.state,
                    up_to(m.record.voters, kMaxVoters), m.signature);
}
auto fields(Is<CommitRecord> auto& m) {
    return in_order(up_to(m.generation, kMaxGeneration), m.step, m.previous_record,
                    m.previous_state, up_to(m.members, kMaxMembers), m.average,
                    m.scalars.learning_rate, m.scalars.first_correction,
                    m.scalars.second_correction, m.mixture,
                    rare_column(m.members, &CommitLine::added));
}
auto fields(Is<Certificate> auto& m) {
    return in_order(m.term, up_to(m.votes, kMaxVoters));
}
auto fields(Is<VoterState> auto& m) {
    return in_order(up_to(m.generation, kMaxGeneration), m.step, m.may_vote, m.promised,
                    m.accepted_in, m.accepted, m.state);
}
auto fields(Is<Decision> auto& m) {
    return in_order(m.record, m.certificate);
}

// --- messages ------------------------------------------------------------------

// The fields of each, as in messages.fbs.
auto fields(Is<Challenge> auto& m) {
    return in_order(m.nonce);
}
auto fields(Is<Hello> auto& m) {
    return in_order(m.oldest_protocol, m.newest_protocol, m.session, up_to(m.role, Role::kBackbone),
                    m.receives, m.listening_port, up_to(m.result_name, kMaxResultNameBytes),
                    m.nonce);
}
auto fields(Is<Leave> auto&) {
    return in_order();
}
auto fields(Is<Refusal> auto& m) {
    return in_order(up_to(m.reason, kMaxReasonBytes));
}
auto fields(Is<Heartbeat> auto& m) {
    return in_order(m.has_state, m.state, m.record, m.samples, m.samples_per_second, m.upload,
                    m.download, m.is_frozen, m.may_vote, m.term, m.attempt,
                    up_to(m.pause_count, kMaxPauseCount), m.listening_port, m.round,
                    m.mixture_version);
}
auto fields(Is<Generation> auto& m) {
    return in_order(m.generation);
}
auto fields(Is<Elect> auto& m) {
    return in_order(m.term);
}
auto fields(Is<Promise> auto& m) {
    return in_order(m.term, m.granted, m.promised, m.accepted_in, m.accepted);
}
auto fields(Is<Call> auto& m) {
    return in_order(m.term);
}
auto fields(Is<Join> auto& m) {
    return in_order(m.term, m.contribution_id, m.samples, m.loss_sum, m.is_finite, m.receives,
                    m.state, m.upload, m.download, up_to(m.exponent, kMaxHalfExponent), m.mixture,
                    up_to(m.added, kMaxSources));
}
auto fields(Is<ReducerEndpoint> auto& m) {
    return in_order(m.member, up_to(m.endpoint.host, kMaxHostBytes), m.endpoint.port);
}
auto fields(Is<Plan> auto& m) {
    return in_order(
        m.term, m.attempt, up_to(m.elements, kMaxElements), up_to(m.chunk_elements, kChunkElements),
        m.scalars.learning_rate, m.scalars.first_correction, m.scalars.second_correction,
        up_to(m.members, kMaxMembers), column(m.members, &PlanMember::contribution_id),
        column(m.members, &PlanMember::receives), column(m.members, &PlanMember::exponent),
        up_to(m.ranges, kMaxRanges), up_to(m.reducers, kMaxReducers), up_to(m.relays, kMaxReducers),
        m.expected, m.mixture, rare_column(m.members, &PlanMember::added));
}
auto fields(Is<Cancel> auto& m) {
    return in_order(m.term);
}
/// The elements are six fields: one list or two for each codec, and the exponent of halves.
auto fields(Is<Chunk> auto& m) {
    return in_order(up_to(m.kind, ChunkKind::kGather), m.sum_id, up_to(m.chunk, kMaxChunks - 1),
                    up_to(m.chunk_elements, kChunkElements), m.elements);
}
auto fields(Is<Reduced> auto& m) {
    return in_order(m.term, m.attempt);
}
auto fields(Is<Stalled> auto& m) {
    return in_order(m.term, m.attempt, up_to(m.senders, kMaxMembers),
                    up_to(m.reducers, kMaxMembers), up_to(m.refused, kMaxMembers));
}
auto fields(Is<Ready> auto& m) {
    return in_order(m.term, m.attempt, m.average);
}
auto fields(Is<Propose> auto& m) {
    return in_order(m.term, m.attempt, m.digest, m.average, m.previous_state, m.record);
}
auto fields(Is<Accept> auto& m) {
    return in_order(m.term, m.digest, m.signature);
}
auto fields(Is<Commit> auto& m) {
    return in_order(m.digest, m.certificate, m.attempt, m.average, m.previous_state, m.record);
}
auto fields(Is<StateVotes> auto& m) {
    return in_order(m.record, m.state, up_to(m.votes, kMaxVoters));
}
auto fields(Is<CommitQuery> auto&) {
    return in_order();
}
auto fields(Is<StateQuery> auto& m) {
    return in_order(m.has_state);
}
auto fields(Is<StateOffer> auto& m) {
    return in_order(up_to(m.bytes, kMaxLeaves * kLeafBytes), up_to(m.leaves, kMaxOfferedLeaves),
                    m.record, up_to(m.votes, kMaxVoters));
}
auto fields(Is<RoundOffer> auto& m) {
    return in_order(m.record, m.certificate, up_to(m.leaves, kMaxOfferedLeaves));
}
auto fields(Is<LeafRequest> auto& m) {
    return in_order(m.root, up_to(m.leaf, kMaxLeaves - 1));
}
auto fields(Is<Leaf> auto& m) {
    return in_order(m.root, up_to(m.leaf, kMaxLeaves - 1), up_to(m.data, kLeafBytes));
}
auto fields(Is<Relay> auto& m) {
    return in_order(up_to(m.frame, kMaxRelayedBytes));
}
auto fields(Is<Pause> auto& m) {
    return in_order(up_to(m.pause.count, kMaxPauseCount), m.pause.signature);
}
auto fields(Is<RevocationList> auto& m) {
    return in_order(up_to(m.list, kMaxRevocationsBytes));
}
auto fields(Is<TurnChange> auto& m) {
    return in_order(m.term, up_to(m.kind, TurnKind::kRest), up_to(m.every, kMaxStaleSteps),
                    m.speed_with, m.speed_now);
}
auto fields(Is<PlanChange> auto& m) {
    return in_order(m.term, m.attempt, m.base, up_to(m.removed, kMaxMembers),
                    up_to(m.ranges, kMaxRanges), up_to(m.reducers, kMaxReducers),
                    up_to(m.relays, kMaxReducers), m.digest);
}
auto fields(Is<PlanQuery> auto& m) {
    return in_order(m.term, m.attempt);
}
auto fields(Is<SliceQuery> auto& m) {
    return in_order(m.sum_id, up_to(m.chunk_elements, kChunkElements), up_to(m.chunks, kMaxRanges));
}
auto fields(Is<Mixture> auto& m) {
    return in_order(up_to(m.list, kMaxMixtureBytes));
}
/// The body is two fields: the number of its kind, and its table.
auto fields(Is<Message> auto& m) {
    return in_order(m.run, up_to(m.generation, kMaxGeneration), m.step, m.sequence, m.sender,
                    m.body);
}

/// What travels as a table.
template <class T>
concept Table = requires(T& value) {
    fields(value);
};

}  // namespace dedloc::wire
