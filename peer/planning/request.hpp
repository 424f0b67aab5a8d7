// The planner's input: the members of the round, the speeds of their links, the vector and its
// size on the wire.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "peer/base/units.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::planning {

/// One member of the round. known_links() fills in unknown bandwidths.
struct Member {
    std::optional<Bandwidth> upload{};    ///< nullopt: unknown
    std::optional<Bandwidth> download{};  ///< nullopt: unknown
    bool contributes = true;              ///< sends a contribution
    bool receives = true;                 ///< gets the average
    bool is_reachable = true;             ///< can be dialled, so it may reduce
    bool operator==(const Member&) const = default;
};

/// Size of elements on the wire.
struct WireSize {
    std::uint32_t block_elements = 1;   ///< elements that are encoded together
    std::uint32_t bytes_per_block = 4;  ///< size of such a block
    std::uint32_t bytes_per_chunk = 0;  ///< overhead of a chunk: frame, ids
    bool operator==(const WireSize&) const = default;
    /// Bytes of one chunk with this many elements; 0 for no elements.
    constexpr std::uint64_t bytes_of(std::uint64_t elements) const {
        if (elements == 0) return 0;
        const std::uint64_t blocks = (elements + block_elements - 1) / block_elements;
        return blocks * bytes_per_block + bytes_per_chunk;
    }
};
/// Codecs without overhead: fp32, and fp16 or bf16.
inline constexpr WireSize kFp32{.block_elements = 1, .bytes_per_block = 4};
inline constexpr WireSize kHalf{.block_elements = 1, .bytes_per_block = 2};
/// int8 in blocks with one scale byte.
inline constexpr WireSize kInt8{.block_elements = wire::kInt8BlockElements,
                                .bytes_per_block = wire::kInt8BlockElements + 1};

/// The size of a run's chunks on the wire, with their overhead.
WireSize on_the_wire(Codec codec);

/// The round to plan.
struct PlanRequest {
    std::vector<Member> members;       ///< in member order
    std::uint64_t elements = 0;        ///< length of the vector, 1 to wire::kMaxElements
    std::uint32_t chunk_elements = 0;  ///< elements of a chunk; see chunk_elements_for()
    WireSize contribution;             ///< size of contributions
    WireSize average;                  ///< size of averages
    /// One-way latency between two members. Reducers with less work than this may be left out. 0:
    /// all reducers that shorten the round take part.
    Duration latency{0};
    std::uint32_t max_reducers = wire::kMaxReducers;  ///< limit of reducers, at least 1
    bool operator==(const PlanRequest&) const = default;
};

/// Elements of a chunk for this vector, these members and codecs; ignores request.chunk_elements. A
/// power of two from 16 to wire::kChunkElements, and not less than a codec's block.
///
/// Long vectors   at least 64 chunks for each reducer, of at least 4,096 elements. On fast links
///                processors are the bottleneck, and a chunk costs them the same whatever its
///                length: then at least 32 chunks, if the slowest link would carry a smaller chunk
///                in less than a millisecond (tests/bench/RESULTS.md, net_bench)
/// Short vectors  at least 8 chunks for each reducer, of at least 16 elements, so that a vector of
///                2,000 elements still splits among 6 members
/// Requires       elements ≥ 1, members, max_reducers ≥ 1 (DEDLOC_CHECK)
std::uint32_t chunk_elements_for(const PlanRequest& request);

/// The vector as chunks, and its size on the wire.
struct VectorSize {
    std::uint32_t chunks = 0;              ///< chunks, the last one included
    std::uint64_t contribution_bytes = 0;  ///< bytes of a whole contribution
    std::uint64_t average_bytes = 0;       ///< bytes of the whole average
};
/// Computes it from the request.
/// Requires  a vector of 1 to wire::kMaxElements elements in at most wire::kMaxChunks chunks, and
///           codecs with blocks (DEDLOC_CHECK)
VectorSize size_of(const PlanRequest& request);

/// Elements of chunk `chunk`: all have chunk_elements but the last.
std::uint64_t elements_of_chunk(const PlanRequest& request, std::uint32_t chunk);

/// Bandwidths of a member, both known.
struct LinkSpeed {
    Bandwidth upload;    ///< above 0
    Bandwidth download;  ///< above 0
    bool operator==(const LinkSpeed&) const = default;
};
/// Bandwidths in member order. An unknown one is the mean of the known ones in this direction, else
/// of those in the other direction, else 100 Mbit/s. Requires known ones above 0 (DEDLOC_CHECK).
std::vector<LinkSpeed> known_links(const PlanRequest& request);

/// Numbers of members that contribute, and that receive.
struct Traffic {
    std::uint64_t contributors = 0;  ///< members with contributes
    std::uint64_t receivers = 0;     ///< members with receives
};
/// Counts them.
Traffic traffic_of(const PlanRequest& request);

}  // namespace dedloc::planning
