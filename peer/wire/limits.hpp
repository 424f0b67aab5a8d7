// Every limit of the wire in one place, and the relations between them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dedloc::wire {

inline constexpr std::uint16_t kOldestProtocol = 4;
inline constexpr std::uint16_t kNewestProtocol = 4;
inline constexpr std::size_t kSignatureBytes = 64;
/// Before the signature, or before the message where there is none: the form of a frame.
inline constexpr std::size_t kFormBytes = 8;
/// Where messages begin must suit their widest numbers, so that they are read where they lie.
inline constexpr std::size_t kMessageAlignment = 8;

/// Gradient elements in one message: 256 KiB measured best over one connection.
inline constexpr std::size_t kChunkElements = 65'536;
/// Of halves: the least beside which even a subnormal one is a normal float, and the most beside
/// which the largest one is finite.
inline constexpr std::uint8_t kMinHalfExponent = 25;
inline constexpr std::uint8_t kMaxHalfExponent = 239;
/// Around the elements of a chunk on a proven link: names, lengths, and what sealing adds.
inline constexpr std::uint32_t kChunkOverheadBytes = 244;
/// A leaf of a state's or an average's digest tree (kernels/digest.hpp).
inline constexpr std::size_t kLeafBytes = 262'144;
/// Leaves of the largest state that is offered in one message: 6 GiB.
inline constexpr std::size_t kMaxLeaves = 24'576;
/// Chunks of one vector.
inline constexpr std::size_t kMaxChunks = std::size_t{1} << 22;
inline constexpr std::size_t kMaxReducers = 128;
/// Ranges of a plan: each lost reducer splits its range among the others.
inline constexpr std::size_t kMaxRanges = 4'096;
/// Of the number of a term: the next one is always a number.
inline constexpr std::uint64_t kMaxTermNumber = std::uint64_t{1} << 62;
/// Largest frame that is read at all.
inline constexpr std::size_t kMaxFrameBytes = 1u << 20;
inline constexpr std::size_t kMaxMembers = 1'024;
/// Voters of a generation. Every peer checks a certificate of more than half of them at each step.
inline constexpr std::size_t kMaxVoters = 15;
/// Commits that a voter sends at once to one that has missed them.
inline constexpr std::size_t kMaxCommitsPerQuery = 16;
inline constexpr std::size_t kMaxResultNameBytes = 254;  // BOINC's result.name
inline constexpr std::size_t kMaxHostBytes = 64;
inline constexpr std::size_t kMaxUrlBytes = 1024;
inline constexpr std::size_t kMaxReasonBytes = 512;
/// Elements of the largest model and samples of the largest round that sums cannot overflow with.
inline constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 34;
inline constexpr std::uint64_t kMaxSamples = std::uint64_t{1} << 40;
/// Largest target batch of a run: contributions may exceed it, and their sum stays in bounds.
inline constexpr std::uint64_t kMaxTargetBatch = kMaxSamples / 4;
/// A petabyte a second: more than any link has, and sums of it over all members keep their bits.
inline constexpr std::uint64_t kMaxBytesPerSecond = std::uint64_t{1} << 50;
/// Far beyond the loss of any diverged model (binary32 ends at 2¹²⁸, and there are kMaxSamples),
/// yet the sum over all members is finite.
inline constexpr double kMaxLossSum = 0x1p200;
/// The next step and the next generation are always numbers.
inline constexpr std::uint64_t kMaxStep = std::uint64_t{1} << 48;
inline constexpr std::uint64_t kMaxGeneration = std::uint64_t{1} << 48;

/// A signed ticket: format, run, key, seat, limit, times, signature.
inline constexpr std::size_t kTicketBytes = 4 + 32 + 32 + 3 * 8 + 8 + 2 * 8 + kSignatureBytes;
/// That a ticket says a seat's device can do; Heartbeat::samples_per_second has the same bound.
inline constexpr std::uint64_t kMaxSamplesPerSecond = kMaxSamples;
/// What is told at once of users, hosts and keys together: more than a project revokes in a day.
inline constexpr std::size_t kMaxRevocations = 1'000;
/// Format, time, three counts, entries, signature.
inline constexpr std::size_t kMaxRevocationsBytes =
    4 + 8 + 3 * 4 + kMaxRevocations * 32 + kSignatureBytes;
/// The swarm's head in the DHT, of which BEP 44 stores less than 1,000 bytes.
inline constexpr std::size_t kMaxHeadEndpoints = 8;
inline constexpr std::size_t kMaxHeadBytes =
    1 + 32 + 2 * 8 + 32 + 1 + kMaxHeadEndpoints * (1 + kMaxHostBytes + 2);
static_assert(kMaxHeadBytes < 990, "bencoded, it has less than 1,000");
/// Of a database's rows.
inline constexpr std::uint64_t kMaxSeatId = std::uint64_t{1} << 62;
/// Seconds since 1970; sums with a lifetime or a clock's error keep their bits.
inline constexpr std::int64_t kMaxUtcSeconds = std::int64_t{1} << 40;
/// How far the clocks of gateway and peers may be apart before a ticket counts as not yet valid.
inline constexpr std::int64_t kClockErrorSeconds = 600;

// What the lists cost on the wire (messages.fbs), and that the largest messages fit a frame.
inline constexpr std::size_t kMemberBytes = 54;  ///< of a plan; a record has 48
inline constexpr std::size_t kRangeBytes = 12;
inline constexpr std::size_t kReducerBytes = kMaxHostBytes + 32;
inline constexpr std::size_t kVoteBytes = 96;
inline constexpr std::size_t kDigestBytes = 32;
/// Form, signature, envelope, the body's own fields and FlatBuffers' tables.
inline constexpr std::size_t kMaxOverheadBytes = 4'096;
/// That a plan says its round takes.
inline constexpr std::uint32_t kMaxExpectedMilliseconds = 3'600'000;
/// A frame inside another one.
inline constexpr std::size_t kMaxRelayedBytes = kMaxFrameBytes - kMaxOverheadBytes;
inline constexpr std::size_t kMaxRecordBytes = kMaxMembers * kMemberBytes;
inline constexpr std::size_t kMaxCertificateBytes = kMaxVoters * kVoteBytes;

static_assert(kFormBytes % kMessageAlignment == 0 && kSignatureBytes % kMessageAlignment == 0,
              "a message lies as well in a frame as alone, with a signature and without");
static_assert(kChunkElements * sizeof(float) + kMaxOverheadBytes <= kMaxFrameBytes);
static_assert(kLeafBytes + kMaxOverheadBytes <= kMaxFrameBytes);
static_assert(kMaxMembers * kMemberBytes + kMaxRanges * kRangeBytes +
                      kMaxReducers * (kReducerBytes + sizeof(std::uint32_t)) + kMaxOverheadBytes <=
                  kMaxRelayedBytes,
              "a plan fits a frame, also when it is relayed");
static_assert(kMaxRecordBytes + kMaxCertificateBytes + kMaxOverheadBytes <= kMaxRelayedBytes,
              "a commit fits a frame, also when it is relayed");
static_assert(kMaxLeaves * kDigestBytes + kMaxCertificateBytes + kMaxOverheadBytes <=
                  kMaxFrameBytes,
              "an offer of a state fits a frame");
static_assert(kMaxLeaves * kDigestBytes + kMaxRecordBytes + kMaxCertificateBytes +
                      kMaxOverheadBytes <=
                  kMaxFrameBytes,
              "an offer of a round fits a frame");
static_assert(kMaxElements <= kMaxChunks * kChunkElements, "chunks cover the largest vector");
static_assert(kMaxSamples <= UINT64_MAX / kMaxMembers, "a round's samples have a sum");
static_assert(kMaxBytesPerSecond <= UINT64_MAX / kMaxMembers, "a swarm's bandwidth has a sum");
static_assert(kMaxVoters <= kMaxMembers);
static_assert(kMaxReducers <= kMaxMembers && kMaxMembers <= kMaxRanges);

}  // namespace dedloc::wire
