// Every limit of the wire in one place, and the relations between them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dedloc::wire {

inline constexpr std::uint16_t kOldestProtocol = 2;
inline constexpr std::uint16_t kNewestProtocol = 2;
inline constexpr std::size_t kSignatureBytes = 64;

/// Gradient elements in one message: 256 KiB measured best over nng streams.
inline constexpr std::size_t kChunkElements = 65'536;
/// A leaf of a state's or an average's digest tree (kernels/digest.hpp).
inline constexpr std::size_t kLeafBytes = 262'144;
/// Leaves of the largest state that is offered in one message: 6 GiB.
inline constexpr std::size_t kMaxLeaves = 24'576;
/// Chunks of one vector.
inline constexpr std::size_t kMaxChunks = std::size_t{1} << 22;
inline constexpr std::size_t kMaxReducers = 128;
/// Ranges of a plan: each lost reducer splits its range among the others.
inline constexpr std::size_t kMaxRanges = 4'096;
/// How far a term may be ahead of what a voter has promised: no liar can use the numbers up.
inline constexpr std::uint64_t kMaxTermLead = std::uint64_t{1} << 20;
/// Largest frame that is read at all.
inline constexpr std::size_t kMaxFrameBytes = 1u << 20;
inline constexpr std::size_t kMaxMembers = 1'024;
inline constexpr std::size_t kMaxResultNameBytes = 254;  // BOINC's result.name
inline constexpr std::size_t kMaxHostBytes = 64;
inline constexpr std::size_t kMaxReasonBytes = 512;
/// Elements of the largest model and samples of the largest round that sums cannot overflow with.
inline constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 34;
inline constexpr std::uint64_t kMaxSamples = std::uint64_t{1} << 40;

static_assert(kChunkElements * sizeof(float) + 4'096 <= kMaxFrameBytes);
static_assert(kLeafBytes + 4'096 <= kMaxFrameBytes);
static_assert(kMaxMembers * (2 * kMaxHostBytes + 256) <= kMaxFrameBytes, "a plan fits a frame");

}  // namespace dedloc::wire
