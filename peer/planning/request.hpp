// What a plan is made from: who is in the round, how fast their links are, how long the vector is.
#pragma once

#include <cstdint>
#include <vector>

#include "peer/base/units.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::planning {

/// One member of the round. What it lacks of bandwidth is filled in by `known_links`.
struct Member {
    std::uint64_t upload = 0;    ///< bytes per second; 0: not known
    std::uint64_t download = 0;  ///< bytes per second; 0: not known
    bool contributes = true;     ///< sends a contribution
    bool receives = true;        ///< wants the average
    bool is_reachable = true;    ///< can be dialled, so it may reduce
    bool operator==(const Member&) const = default;
};

/// How many bytes a run of elements takes on the wire.
struct Codec {
    std::uint32_t block_elements = 1;
    std::uint32_t bytes_per_block = 4;
    std::uint32_t bytes_per_chunk = 0;  ///< frame, names: once a chunk
    bool operator==(const Codec&) const = default;
    /// Of one chunk with this many elements; nothing for none.
    constexpr std::uint64_t bytes_of(std::uint64_t elements) const {
        if (elements == 0) return 0;
        const std::uint64_t blocks = (elements + block_elements - 1) / block_elements;
        return blocks * bytes_per_block + bytes_per_chunk;
    }
};
inline constexpr Codec kFp32{.block_elements = 1, .bytes_per_block = 4};
inline constexpr Codec kHalf{.block_elements = 1, .bytes_per_block = 2};  ///< fp16 and bf16
/// Blocks of 64 elements with an exponent for a scale.
inline constexpr Codec kInt8{.block_elements = 64, .bytes_per_block = 65};

/// What this run's chunks take, with what is around the elements of each.
Codec on_the_wire(dedloc::Codec codec);

struct PlanRequest {
    std::vector<Member> members;       ///< in member order
    std::uint64_t elements = 0;        ///< of the vector, 1 to wire::kMaxElements
    std::uint32_t chunk_elements = 0;  ///< see chunk_elements_for
    Codec contribution;
    Codec average;
    /// Of one message between two members. Reducers with less than this to do may be left out; 0:
    /// as many reduce as help.
    Duration latency{0};
    std::uint32_t max_reducers = wire::kMaxReducers;
    bool operator==(const PlanRequest&) const = default;
};

/// Elements of a chunk for this vector, these members and this way of writing numbers, whatever the
/// request says so far: a power of two from 16 to wire::kChunkElements.
///
/// Long vectors   at least 64 chunks a reducer, of at least 4,096 elements. Where links are fast
///                processors are the bottleneck, and each chunk costs them the same whatever its
///                length: at least 32, if a chunk else took the slowest link less than a
///                millisecond (tests/bench/README.md, net_bench)
/// Short vectors  at least 8 chunks a reducer, of at least 16 elements, so that a vector of 2,000
///                elements still splits among 6
/// Requires       elements ≥ 1, members, max_reducers ≥ 1 (DEDLOC_CHECK)
std::uint32_t chunk_elements_for(const PlanRequest& request);

/// The vector as chunks, and its size on the wire.
struct VectorSize {
    std::uint32_t chunks = 0;
    std::uint64_t contribution_bytes = 0;
    std::uint64_t average_bytes = 0;
};
/// Requires  a vector of 1 to wire::kMaxElements elements in at most wire::kMaxChunks chunks, and
///           codecs with blocks (DEDLOC_CHECK)
VectorSize size_of(const PlanRequest& request);

/// Elements of chunk `chunk`: all have chunk_elements but the last.
std::uint64_t elements_of_chunk(const PlanRequest& request, std::uint32_t chunk);

/// Bandwidths with nothing unknown, in bytes per second.
struct LinkSpeed {
    std::uint64_t upload = 0;
    std::uint64_t download = 0;
    bool operator==(const LinkSpeed&) const = default;
};
/// In member order. Not known: the mean of those that are known in this direction; else of those
/// that are known in the other one; else 100 Mbit/s.
std::vector<LinkSpeed> known_links(const PlanRequest& request);

/// How many members contribute, and how many receive.
struct Traffic {
    std::uint64_t contributors = 0;
    std::uint64_t receivers = 0;
};
Traffic traffic_of(const PlanRequest& request);

}  // namespace dedloc::planning
