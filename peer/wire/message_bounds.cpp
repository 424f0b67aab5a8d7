// Bounds of every field, and relations between fields of one message: lists ascend strictly, ranges
// of a plan cover the vector without gaps, sizes match numbers of leaves. encode() aborts on a
// message outside its bounds, decode() refuses it, so a peer cannot send what others must refuse.
// What depends on the state of the swarm (is this term current, is the digest the expected one) is
// checked by the core. is_good() checks what the type of a field and its entry in
// message_fields.hpp say; obeys_rules() checks the rest, for the messages that have more to check.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "peer/wire/address.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/loss_bound.hpp"
#include "peer/wire/message_codec.hpp"
#include "peer/wire/message_fields.hpp"

namespace dedloc::wire {
namespace {

// --- what the type of a field says ----------------------------------------------

/// Has nothing to check by itself.
template <class T>
bool is_good(const T&) {
    return true;
}
bool is_good(Samples samples) {
    return samples.value() <= kMaxSamples;
}
bool is_good(StepIndex step) {
    return step.value() <= kMaxStep;
}
/// A known bandwidth of 0 would be unknown on the wire.
bool is_good(const std::optional<Bandwidth>& bandwidth) {
    return !bandwidth || (bandwidth->value() > 0 && bandwidth->value() <= kMaxBytesPerSecond);
}
bool is_good(const Term& term) {
    return term.number <= kMaxTermNumber;
}

bool is_finite_float(std::uint32_t bits) {
    return std::isfinite(std::bit_cast<float>(bits));
}
/// False also for NaN.
bool is_correction(std::uint32_t bits) {
    const auto correction = std::bit_cast<float>(bits);
    return correction > 0 && correction <= 1;
}
bool are_usable(const UpdateScalars& scalars) {
    return is_finite_float(scalars.learning_rate) &&
           std::bit_cast<float>(scalars.learning_rate) >= 0 &&
           is_correction(scalars.first_correction) && is_correction(scalars.second_correction);
}

/// False also for NaN.
bool is_loss_sum(double loss_sum, Samples samples) {
    return std::abs(loss_sum) <= greatest_loss_sum(samples);
}
/// False also for NaN.
bool is_speed(double speed) {
    return speed >= 0 && speed <= static_cast<double>(kMaxSamplesPerSecond);
}
/// A numeric address, or an empty host with port 0.
bool is_endpoint(const Endpoint& endpoint) {
    return endpoint.host.empty() ? endpoint.port == 0 : is_numeric_address(endpoint.host);
}

/// Strictly, so that no element occurs twice.
template <class List, class Key>
bool ascends(const List& list, Key key) {
    const auto out_of_order = [&](const auto& a, const auto& b) {
        return !(std::invoke(key, a) < std::invoke(key, b));
    };
    return std::adjacent_find(list.begin(), list.end(), out_of_order) == list.end();
}
/// Ascending indices of members.
bool are_indices(const std::vector<std::uint32_t>& indices, std::size_t members) {
    return ascends(indices, std::identity{}) && (indices.empty() || indices.back() < members);
}

/// The same bounds hold for the members of a plan and for the lines of a record.
template <class List, class Key>
bool are_members(const List& members, Key key) {
    if (members.empty() || !ascends(members, key)) return false;
    return std::all_of(members.begin(), members.end(), [](const auto& member) {
        return is_good(member.samples) && is_loss_sum(member.loss_sum, member.samples) &&
               member.added <= kMaxSources;
    });
}

/// Each element of a vector has one reducer.
bool are_parts(const CommitRecord& record) {
    const bool are_bounded = std::ranges::all_of(
        record.members, [](const CommitLine& line) { return line.reduced <= kMaxElements; });
    return are_bounded && reduced_in(record) >= 1 && reduced_in(record) <= kMaxElements;
}

/// Whether a chunk of this length can have these scales.
struct HasScales {
    std::uint32_t chunk_elements;

    bool operator()(const SharedSlice<float>&) const { return true; }
    bool operator()(const Halves& halves) const {
        return is_exponent_of(Codec::kFp16, halves.exponent);
    }
    bool operator()(const Bfloats&) const { return true; }
    /// Blocks begin at multiples of their length in the vector, so chunks do, too. The codes are
    /// checked here, and not by the reducer, since a receiver of averages must be able to encode
    /// them again.
    bool operator()(const Int8Blocks& blocks) const {
        constexpr std::int8_t kNoCode = -kMaxInt8Code - 1;
        const auto codes = blocks.codes.values();
        const std::size_t count = (codes.size() + kInt8BlockElements - 1) / kInt8BlockElements;
        return chunk_elements % kInt8BlockElements == 0 && blocks.exponents.size() == count &&
               std::ranges::all_of(blocks.exponents.values(),
                                   [](auto e) { return is_exponent_of(Codec::kInt8, e); }) &&
               // std::find would compare byte by byte.
               (codes.empty() || std::memchr(codes.data(), kNoCode, codes.size()) == nullptr);
    }
};

/// Each chunk of the plan's vector is in exactly one range, in ascending order.
bool cover(const std::vector<ChunkRange>& ranges, std::uint64_t chunks, std::size_t members) {
    if (chunks > kMaxChunks) return false;
    std::uint64_t covered = 0;
    for (const ChunkRange& range : ranges) {
        if (range.member.value() >= members) return false;
        if (range.first_chunk != covered || range.last_chunk <= range.first_chunk) return false;
        covered = range.last_chunk;
    }
    return covered == chunks;
}

/// Ranges or spans of chunks, ascending and disjoint.
template <class Range>
bool are_apart(const std::vector<Range>& ranges) {
    std::uint32_t end = 0;
    for (const Range& range : ranges) {
        if (range.first_chunk < end || range.last_chunk <= range.first_chunk) return false;
        end = range.last_chunk;
    }
    return end <= kMaxChunks;
}

bool can_be_dialled(const std::vector<ReducerEndpoint>& reducers, std::size_t members) {
    return std::ranges::all_of(reducers, [&](const ReducerEndpoint& reducer) {
        return reducer.member.value() < members && reducer.endpoint.port != 0 &&
               is_endpoint(reducer.endpoint);
    });
}

/// Leaves of an array of this size.
std::uint64_t leaves_of(std::uint64_t bytes) {
    return (bytes + kLeafBytes - 1) / kLeafBytes;
}

// --- what messages have to obey besides ------------------------------------------

template <Table T>
bool obeys_rules(const T&) {
    return true;
}
bool obeys_rules(const CommitRecord& m) {
    return are_members(m.members, &CommitLine::peer) && are_parts(m) && are_usable(m.scalars);
}
bool obeys_rules(const Certificate& m) {
    return !m.votes.empty();
}
bool obeys_rules(const SignedGeneration& m) {
    return m.record.generation >= 1 && !m.record.voters.empty() &&
           ascends(m.record.voters, std::identity{});
}
bool obeys_rules(const Hello& m) {
    return m.oldest_protocol <= m.newest_protocol;
}
bool obeys_rules(const Heartbeat& m) {
    return is_speed(m.samples_per_second) && m.round.count() >= 0 &&
           m.round.count() <= kMaxRoundMilliseconds;
}
bool obeys_rules(const Join& m) {
    return is_loss_sum(m.loss_sum, m.samples);
}
bool obeys_rules(const Plan& m) {
    if (m.elements == 0 || m.chunk_elements == 0) return false;
    const std::uint64_t chunks = (m.elements + m.chunk_elements - 1) / m.chunk_elements;
    // The exponent of any codec: only the core knows the run's.
    const auto has_exponent = [](const PlanMember& p) { return p.exponent <= kMaxHalfExponent; };
    return are_usable(m.scalars) && are_members(m.members, &PlanMember::peer) &&
           std::ranges::all_of(m.members, has_exponent) &&
           cover(m.ranges, chunks, m.members.size()) &&
           can_be_dialled(m.reducers, m.members.size()) &&
           m.expected.count() <= kMaxExpectedMilliseconds &&
           are_indices(m.relays, m.members.size());
}
/// Whether it leads to a sound plan is seen when it is applied (plan_change.cpp).
bool obeys_rules(const PlanChange& m) {
    return m.base >= 1 && m.base < m.attempt && are_indices(m.removed, kMaxMembers) &&
           are_apart(m.ranges) &&
           std::ranges::all_of(
               m.ranges, [](const ChunkRange& r) { return r.member.value() < kMaxMembers; }) &&
           can_be_dialled(m.reducers, kMaxMembers) && are_indices(m.relays, kMaxMembers);
}
bool obeys_rules(const PlanQuery& m) {
    return m.attempt >= 1;
}
bool obeys_rules(const SliceQuery& m) {
    return m.chunk_elements >= 1 && !m.chunks.empty() && are_apart(m.chunks);
}
/// Floats, halves and bfloats may be infinite or NaN: the reducer that sums them checks that.
bool obeys_rules(const Chunk& m) {
    const std::size_t count = count_of(m.elements);
    return count >= 1 && count <= m.chunk_elements &&
           std::visit(HasScales{m.chunk_elements}, m.elements);
}
bool obeys_rules(const Stalled& m) {
    return are_indices(m.senders, kMaxMembers) && are_indices(m.reducers, kMaxMembers) &&
           are_indices(m.refused, kMaxMembers);
}
bool obeys_rules(const StateVotes& m) {
    return !m.votes.empty();
}
/// Has a digest for each leaf or, if there are too many, for each page of the list of digests.
bool obeys_rules(const StateOffer& m) {
    const std::uint64_t leaves = leaves_of(m.bytes);
    const bool is_listed = leaves > kMaxOfferedLeaves;
    return m.bytes >= 1 &&
           m.leaves.size() == (is_listed ? leaves_of(leaves * kDigestBytes) : leaves);
}
bool obeys_rules(const RoundOffer& m) {
    return !m.leaves.empty();
}
bool obeys_rules(const Relay& m) {
    return !m.frame.empty();
}
bool obeys_rules(const Pause& m) {
    return m.pause.count >= 1;
}
bool obeys_rules(const RevocationList& m) {
    return !m.list.empty();
}
bool obeys_rules(const Mixture& m) {
    return !m.list.empty();
}
bool obeys_rules(const TurnChange& m) {
    return m.every >= 1 && is_speed(m.speed_with) && is_speed(m.speed_now);
}

// --- all of it -------------------------------------------------------------------

template <Table T>
bool is_good(const T& table);
template <Table T>
bool is_good(const std::optional<T>& table) {
    return !table || is_good(*table);
}
bool is_good(const Body& body);
/// Votes ascend, too.
template <class Value, class Limit>
bool is_good(const Limited<Value, Limit>& field) {
    using T = std::remove_const_t<Value>;
    if constexpr (Number<T>) {
        return std::cmp_less_equal(number_of(field.value), number_of(field.limit));
    } else if constexpr (std::is_same_v<T, std::vector<Vote>>) {
        return field.value.size() <= field.limit && ascends(field.value, &Vote::voter);
    } else if constexpr (std::is_same_v<T, std::vector<ReducerEndpoint>>) {
        return field.value.size() <= field.limit &&
               std::ranges::all_of(field.value, [](const auto& table) { return is_good(table); });
    } else {
        return field.value.size() <= field.limit;
    }
}
template <Table T>
bool is_good(const T& table) {
    const auto are_good = [](const auto&... field) { return (is_good(field) && ...); };
    return std::apply(are_good, fields(table)) && obeys_rules(table);
}
bool is_good(const Body& body) {
    return std::visit([](const auto& m) { return is_good(m); },
                      static_cast<const BodyKinds&>(body));
}

}  // namespace

bool is_within_bounds(const Message& message) {
    return is_good(message);
}

bool is_within_bounds(const Plan& plan) {
    return is_good(plan);
}

bool is_within_bounds(const VoterState& state) {
    return is_good(state);
}

bool is_within_bounds(const SignedGeneration& generation) {
    return is_good(generation);
}

bool is_within_bounds(const Decision& decision) {
    return is_good(decision);
}

}  // namespace dedloc::wire
