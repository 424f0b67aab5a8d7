// Every limit of the wire in one place, and the relations between them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dedloc::wire {

inline constexpr std::uint16_t kProtocolVersion = 1;
inline constexpr std::size_t kSignatureBytes = 64;

/// Gradient elements and state bytes in one message: 256 KiB measured best over nng streams.
inline constexpr std::size_t kChunkElements = 65'536;
inline constexpr std::size_t kStateChunkBytes = 262'144;
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
static_assert(kStateChunkBytes + 4'096 <= kMaxFrameBytes);
static_assert(kMaxMembers * (2 * kMaxHostBytes + 256) <= kMaxFrameBytes, "a plan fits a frame");

}  // namespace dedloc::wire
