// Bounds of every field, and relations between fields of one message: lists ascend strictly, ranges
// of a plan cover the vector without gaps, sizes match numbers of leaves. encode() aborts on a
// message outside its bounds, decode() refuses it, so a peer cannot send what others must refuse.
// What depends on the state of the swarm (is this term current, is the digest the expected one) is
// checked by the core. One operator of IsGood for each message.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <variant>

#include "peer/wire/address.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/loss_bound.hpp"
#include "peer/wire/message_codec.hpp"

namespace dedloc::wire {
namespace {

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

bool are_samples(Samples samples) {
    return samples.value() <= kMaxSamples;
}
/// False also for NaN.
bool is_loss_sum(double loss_sum, Samples samples) {
    return std::abs(loss_sum) <= greatest_loss_sum(samples);
}
/// A known bandwidth of 0 would be unknown on the wire.
bool is_bandwidth(std::optional<Bandwidth> bandwidth) {
    return !bandwidth || (bandwidth->value() > 0 && bandwidth->value() <= kMaxBytesPerSecond);
}
bool is_place(std::uint64_t generation, StepIndex step) {
    return generation <= kMaxGeneration && step.value() <= kMaxStep;
}
/// A numeric address, or an empty host with port 0.
bool is_endpoint(const Endpoint& endpoint) {
    if (endpoint.host.empty()) return endpoint.port == 0;
    return endpoint.host.size() <= kMaxHostBytes && is_numeric_address(endpoint.host);
}

/// Strictly, so that no element occurs twice.
template <class List, class Key>
bool ascends(const List& list, Key key) {
    const auto out_of_order = [&](const auto& a, const auto& b) {
        return !(std::invoke(key, a) < std::invoke(key, b));
    };
    return std::adjacent_find(list.begin(), list.end(), out_of_order) == list.end();
}
bool are_indices(const std::vector<std::uint32_t>& indices) {
    return indices.size() <= kMaxMembers && ascends(indices, std::identity{}) &&
           (indices.empty() || indices.back() < kMaxMembers);
}

/// The same bounds hold for the members of a plan and for the lines of a record.
template <class List, class Key>
bool are_members(const List& members, Key key) {
    if (members.empty() || members.size() > kMaxMembers || !ascends(members, key)) return false;
    return std::all_of(members.begin(), members.end(), [](const auto& member) {
        return are_samples(member.samples) && is_loss_sum(member.loss_sum, member.samples);
    });
}

/// Each element of a vector has one reducer.
bool are_parts(const CommitRecord& record) {
    const bool are_bounded = std::ranges::all_of(
        record.members, [](const CommitLine& line) { return line.reduced <= kMaxElements; });
    return are_bounded && reduced_in(record) >= 1 && reduced_in(record) <= kMaxElements;
}

bool is_good(const CommitRecord& record) {
    return is_place(record.generation, record.step) &&
           are_members(record.members, &CommitLine::peer) && are_parts(record) &&
           are_usable(record.scalars);
}
bool is_good(const std::optional<CommitRecord>& record) {
    return !record || is_good(*record);
}
bool are_votes(const std::vector<Vote>& votes) {
    return votes.size() <= kMaxVoters && ascends(votes, &Vote::voter);
}
bool is_good(const Term& term) {
    return term.number <= kMaxTermNumber;
}
bool is_good(const Certificate& certificate) {
    return !certificate.votes.empty() && are_votes(certificate.votes) && is_good(certificate.term);
}
bool is_good(const GenerationRecord& record) {
    return record.generation >= 1 && is_place(record.generation, record.step) &&
           !record.voters.empty() && record.voters.size() <= kMaxVoters &&
           ascends(record.voters, std::identity{});
}
/// An exponent of any codec: only the core knows the run's.
bool is_exponent(std::uint8_t exponent) {
    return exponent <= kMaxHalfExponent;
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
    if (ranges.size() > kMaxRanges || chunks > kMaxChunks) return false;
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
    if (ranges.size() > kMaxRanges) return false;
    std::uint32_t end = 0;
    for (const Range& range : ranges) {
        if (range.first_chunk < end || range.last_chunk <= range.first_chunk) return false;
        end = range.last_chunk;
    }
    return end <= kMaxChunks;
}

bool can_be_dialled(const std::vector<ReducerEndpoint>& reducers, std::size_t members) {
    return reducers.size() <= kMaxReducers &&
           std::ranges::all_of(reducers, [&](const ReducerEndpoint& reducer) {
               return reducer.member.value() < members && reducer.endpoint.port != 0 &&
                      is_endpoint(reducer.endpoint);
           });
}

bool are_relays(const std::vector<std::uint32_t>& relays, std::size_t members) {
    return relays.size() <= kMaxReducers && ascends(relays, std::identity{}) &&
           (relays.empty() || relays.back() < members);
}

/// Leaves of an array of this size.
std::uint64_t leaves_of(std::uint64_t bytes) {
    return (bytes + kLeafBytes - 1) / kLeafBytes;
}

struct IsGood {
    bool operator()(const Challenge&) const { return true; }
    bool operator()(const Hello& m) const {
        return m.oldest_protocol <= m.newest_protocol && m.role <= Role::kBackbone &&
               m.result_name.size() <= kMaxResultNameBytes;
    }
    bool operator()(const Leave&) const { return true; }
    bool operator()(const Refusal& m) const { return m.reason.size() <= kMaxReasonBytes; }
    bool operator()(const Heartbeat& m) const {
        return are_samples(m.samples) && m.samples_per_second >= 0 &&
               m.samples_per_second <= static_cast<double>(kMaxSamples) && is_bandwidth(m.upload) &&
               is_bandwidth(m.download) && is_good(m.term) && m.pause_count <= kMaxPauseCount &&
               m.round.count() >= 0 && m.round.count() <= kMaxRoundMilliseconds;
    }
    bool operator()(const Generation& m) const { return is_good(m.generation.record); }
    bool operator()(const Elect& m) const { return is_good(m.term); }
    bool operator()(const Promise& m) const {
        return is_good(m.term) && is_good(m.promised) && is_good(m.accepted_in) &&
               is_good(m.accepted);
    }
    bool operator()(const Call& m) const { return is_good(m.term); }
    bool operator()(const Join& m) const {
        return is_good(m.term) && are_samples(m.samples) && is_loss_sum(m.loss_sum, m.samples) &&
               is_exponent(m.exponent) && is_bandwidth(m.upload) && is_bandwidth(m.download);
    }
    bool operator()(const Plan& m) const {
        const bool has_size = m.elements >= 1 && m.elements <= kMaxElements &&
                              m.chunk_elements >= 1 && m.chunk_elements <= kChunkElements;
        if (!has_size) return false;
        const std::uint64_t chunks = (m.elements + m.chunk_elements - 1) / m.chunk_elements;
        const auto has_exponent = [](const PlanMember& p) { return is_exponent(p.exponent); };
        return is_good(m.term) && are_usable(m.scalars) &&
               are_members(m.members, &PlanMember::peer) &&
               std::all_of(m.members.begin(), m.members.end(), has_exponent) &&
               cover(m.ranges, chunks, m.members.size()) &&
               can_be_dialled(m.reducers, m.members.size()) &&
               m.expected.count() <= kMaxExpectedMilliseconds &&
               are_relays(m.relays, m.members.size());
    }
    /// Whether it leads to a sound plan is seen when it is applied (plan_change.cpp).
    bool operator()(const PlanChange& m) const {
        return is_good(m.term) && m.base >= 1 && m.base < m.attempt && are_indices(m.removed) &&
               are_apart(m.ranges) &&
               std::ranges::all_of(
                   m.ranges, [](const ChunkRange& r) { return r.member.value() < kMaxMembers; }) &&
               can_be_dialled(m.reducers, kMaxMembers) && are_relays(m.relays, kMaxMembers);
    }
    bool operator()(const PlanQuery& m) const { return is_good(m.term) && m.attempt >= 1; }
    bool operator()(const SliceQuery& m) const {
        return m.chunk_elements >= 1 && m.chunk_elements <= kChunkElements && !m.chunks.empty() &&
               are_apart(m.chunks);
    }
    bool operator()(const Cancel& m) const { return is_good(m.term); }
    /// Floats, halves and bfloats may be infinite or NaN: the reducer that sums them checks that.
    bool operator()(const Chunk& m) const {
        const std::size_t count = count_of(m.elements);
        return m.phase <= Phase::kGather && m.chunk < kMaxChunks && m.chunk_elements >= 1 &&
               m.chunk_elements <= kChunkElements && count >= 1 && count <= m.chunk_elements &&
               std::visit(HasScales{m.chunk_elements}, m.elements);
    }
    bool operator()(const Reduced& m) const { return is_good(m.term); }
    bool operator()(const Stalled& m) const {
        return is_good(m.term) && are_indices(m.senders) && are_indices(m.reducers) &&
               are_indices(m.refused);
    }
    bool operator()(const Ready& m) const { return is_good(m.term); }
    bool operator()(const Propose& m) const { return is_good(m.term) && is_good(m.record); }
    bool operator()(const Accept& m) const { return is_good(m.term); }
    bool operator()(const Commit& m) const { return is_good(m.certificate) && is_good(m.record); }
    bool operator()(const StateVotes& m) const { return !m.votes.empty() && are_votes(m.votes); }
    bool operator()(const CommitQuery&) const { return true; }
    bool operator()(const StateQuery&) const { return true; }
    /// Has a digest for each leaf or, if there are too many, for each page of the list of digests.
    bool operator()(const StateOffer& m) const {
        if (m.bytes == 0 || m.bytes > kMaxLeaves * kLeafBytes) return false;
        const std::uint64_t leaves = leaves_of(m.bytes);
        const bool is_listed = leaves > kMaxOfferedLeaves;
        return m.leaves.size() == (is_listed ? leaves_of(leaves * kDigestBytes) : leaves) &&
               are_votes(m.votes);
    }
    bool operator()(const RoundOffer& m) const {
        return !m.leaves.empty() && m.leaves.size() <= kMaxOfferedLeaves && is_good(m.record) &&
               is_good(m.certificate);
    }
    bool operator()(const LeafRequest& m) const { return m.leaf < kMaxLeaves; }
    bool operator()(const Leaf& m) const {
        return m.leaf < kMaxLeaves && m.data.size() <= kLeafBytes;
    }
    bool operator()(const Relay& m) const {
        return !m.frame.empty() && m.frame.size() <= kMaxRelayedBytes;
    }
    bool operator()(const Pause& m) const {
        return m.pause.count >= 1 && m.pause.count <= kMaxPauseCount;
    }
    bool operator()(const RevocationList& m) const {
        return !m.list.empty() && m.list.size() <= kMaxRevocationsBytes;
    }
    bool operator()(const Assignment& m) const {
        // False also for NaN.
        const auto is_speed = [](double speed) {
            return speed >= 0 && speed <= static_cast<double>(kMaxSamplesPerSecond);
        };
        return is_good(m.term) && m.attendance <= Attendance::kRest && m.every >= 1 &&
               m.every <= kMaxStaleSteps && is_speed(m.speed_with) && is_speed(m.speed_now);
    }
};

}  // namespace

bool is_within_bounds(const Message& message) {
    return is_place(message.generation, message.step) && std::visit(IsGood{}, message.body);
}

bool is_within_bounds(const Plan& plan) {
    return IsGood{}(plan);
}

bool is_within_bounds(const VoterState& state) {
    return is_place(state.generation, state.step) && is_good(state.promised) &&
           is_good(state.accepted_in) && is_good(state.accepted);
}

bool is_within_bounds(const SignedGeneration& generation) {
    return is_good(generation.record);
}

bool is_within_bounds(const Decision& decision) {
    return is_good(decision.record) && is_good(decision.certificate);
}

}  // namespace dedloc::wire
