// Every limit of the wire format, and static checks that the limits fit together. A decoder refuses
// what exceeds them; an encoder aborts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dedloc::wire {

inline constexpr std::uint16_t kOldestProtocol = 10;  ///< oldest protocol version spoken
inline constexpr std::uint16_t kNewestProtocol = 10;  ///< newest protocol version spoken
inline constexpr std::size_t kSignatureBytes = 64;    ///< an Ed25519 signature
/// The form field that every frame begins with: signed or unsigned.
inline constexpr std::size_t kFormBytes = 8;
/// A message begins at a multiple of this in its frame, so that its numbers can be read in place.
inline constexpr std::size_t kMessageAlignment = 8;

/// Gradient elements in one message. 256 KiB measured best over one connection.
inline constexpr std::size_t kChunkElements = 65'536;
/// Range of a chunk's exponent (Halves): from the lowest one with which even a subnormal half is a
/// normal float to the highest one with which the largest half is finite.
inline constexpr std::uint8_t kMinHalfExponent = 25;
inline constexpr std::uint8_t kMaxHalfExponent = 239;
/// Elements of an int8 block, which share a scale.
inline constexpr std::size_t kInt8BlockElements = 64;
/// Range of the exponent of a block's scale: from the lowest normal float to the highest one with
/// which the sum of the largest codes of all members is finite.
inline constexpr std::uint8_t kMinInt8Exponent = 1;
inline constexpr std::uint8_t kMaxInt8Exponent = 238;
/// Largest magnitude of a code: −128 would have no opposite.
inline constexpr std::int8_t kMaxInt8Code = 127;
/// Bytes of a chunk message on a proven link besides its elements: fields, lengths, and encryption.
inline constexpr std::uint32_t kChunkOverheadBytes = 244;
/// More bytes of a chunk of int8 blocks: those of its second list, besides the exponents.
inline constexpr std::uint32_t kBlocksOverheadBytes = 8;
/// Bytes of one leaf of the digest tree of a state or an average (kernels/digest.hpp).
inline constexpr std::size_t kLeafBytes = 262'144;
/// Leaf digests in one offer: those of an array of 6 GiB. The digests of a larger array are an
/// array themselves, and its offer has the digests of that array's leaves (state/leaf_list.hpp).
inline constexpr std::size_t kMaxOfferedLeaves = 24'576;
/// Chunks of one vector.
inline constexpr std::size_t kMaxChunks = std::size_t{1} << 22;
/// Members of a plan that reduce.
inline constexpr std::size_t kMaxReducers = 128;
/// Ranges of a plan. There are more ranges than reducers because the range of a lost reducer is
/// split among the others.
inline constexpr std::size_t kMaxRanges = 4'096;
/// Highest term number; the next one cannot overflow.
inline constexpr std::uint64_t kMaxTermNumber = std::uint64_t{1} << 62;
/// Largest frame.
inline constexpr std::size_t kMaxFrameBytes = 1u << 20;
/// Members of a plan or of a record.
inline constexpr std::size_t kMaxMembers = 1'024;
/// Voters of a generation. At each step every peer verifies the votes of more than half of them.
inline constexpr std::size_t kMaxVoters = 15;
/// Ledger entries in one answer to a CommitQuery.
inline constexpr std::size_t kMaxCommitsPerQuery = 16;
inline constexpr std::size_t kMaxResultNameBytes = 254;  ///< BOINC's result.name
inline constexpr std::size_t kMaxHostBytes = 64;         ///< a numeric address as text
inline constexpr std::size_t kMaxUrlBytes = 1024;        ///< the gateway's URL
inline constexpr std::size_t kMaxReasonBytes = 512;      ///< Refusal::reason
/// Elements of the largest model, as many as kernels/ can reduce, and samples of one member. Sums
/// over a round cannot overflow.
inline constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 32;
/// Vectors of the largest state: the parameters and two moments. It has 48 GiB.
inline constexpr std::size_t kMaxStateVectors = 3;
/// Leaves of the largest state.
inline constexpr std::size_t kMaxLeaves =
    kMaxStateVectors * sizeof(float) * kMaxElements / kLeafBytes;
/// Samples of one contribution; the sum over kMaxMembers fits into 64 bits.
inline constexpr std::uint64_t kMaxSamples = std::uint64_t{1} << 40;
/// Largest target batch of a run: contributions may exceed it, and their sum stays in bounds.
inline constexpr std::uint64_t kMaxTargetBatch = kMaxSamples / 4;
/// Bandwidth of a link: a petabyte per second. The sum over all members cannot overflow.
inline constexpr std::uint64_t kMaxBytesPerSecond = std::uint64_t{1} << 50;
/// Magnitude of a loss sum. kMaxSamples losses of a diverged model stay below it (binary32 ends at
/// 2¹²⁸), and the sum over all members is finite.
inline constexpr double kMaxLossSum = 0x1p200;
/// Highest step and highest generation; the next ones cannot overflow.
inline constexpr std::uint64_t kMaxStep = std::uint64_t{1} << 48;
inline constexpr std::uint64_t kMaxGeneration = std::uint64_t{1} << 48;
/// How often a run can be paused and resumed.
inline constexpr std::uint64_t kMaxPauseCount = std::uint64_t{1} << 48;

/// A signed ticket: format, run, key, job, speed limit, two times, signature.
inline constexpr std::size_t kTicketBytes = 4 + 32 + 32 + 3 * 8 + 8 + 2 * 8 + kSignatureBytes;
/// Training speed in a ticket and in Heartbeat::samples_per_second.
inline constexpr std::uint64_t kMaxSamplesPerSecond = kMaxSamples;
/// Entries of one revocation list (users, hosts and keys together): more than a project revokes in
/// a day.
inline constexpr std::size_t kMaxRevocations = 1'000;
/// A signed revocation list: format, time, three counts, entries, signature.
inline constexpr std::size_t kMaxRevocationsBytes =
    4 + 8 + 3 * 4 + kMaxRevocations * 32 + kSignatureBytes;
/// Sources of a run, and the weight of one.
inline constexpr std::size_t kMaxSources = 16;
inline constexpr std::uint64_t kMaxSourceWeight = 1'000'000;
/// How often the mixture of a run's sources can change.
inline constexpr std::size_t kMaxMixtureChanges = 64;
/// A signed list of so many changes, each with so many weights, and added sources: magic, version,
/// two counts, digests of the sources, changes, signature.
constexpr std::size_t mixture_bytes(std::size_t changes, std::size_t weights, std::size_t added) {
    return 4 + 8 + 2 * 4 + added * 32 + changes * (8 + 4 + weights * 8) + kSignatureBytes;
}
inline constexpr std::size_t kMaxMixtureBytes =
    mixture_bytes(kMaxMixtureChanges, kMaxSources, kMaxSources);
/// The swarm's head in the DHT. An item of BEP 44 has less than 1,000 bytes.
inline constexpr std::size_t kMaxHeadEndpoints = 8;
inline constexpr std::size_t kMaxHeadBytes =
    1 + 32 + 2 * 8 + 32 + 1 + kMaxHeadEndpoints * (1 + kMaxHostBytes + 2);
static_assert(kMaxHeadBytes < 990, "the bencoded head has less than 1,000 bytes");
/// Largest row id of the project's database in a ticket.
inline constexpr std::uint64_t kMaxJobId = std::uint64_t{1} << 62;
/// Latest UTC time, in seconds since 1970. Sums with a lifetime or a clock error cannot overflow.
inline constexpr std::int64_t kMaxUtcSeconds = std::int64_t{1} << 40;
/// Tolerated difference between the clocks of gateway and peers: a ticket that was issued further
/// in the future is not valid yet.
inline constexpr std::int64_t kClockErrorSeconds = 600;

// Bytes of one list element on the wire (messages.fbs). The checks below use them to show that the
// largest messages fit a frame.
inline constexpr std::size_t kMemberBytes = 54;  ///< a member of a plan
inline constexpr std::size_t kLineBytes = 56;    ///< a line of a record
inline constexpr std::size_t kAddedBytes = 1;    ///< more for each of both once a source was added
inline constexpr std::size_t kRangeBytes = 12;   ///< chunks of one reducer
inline constexpr std::size_t kReducerBytes = kMaxHostBytes + 32;  ///< a reducer's endpoint
inline constexpr std::size_t kVoteBytes = 96;                     ///< a voter's key and signature
inline constexpr std::size_t kDigestBytes = 32;                   ///< a digest
/// Form, signature, envelope, the body's own fields and FlatBuffers' tables.
inline constexpr std::size_t kMaxOverheadBytes = 4'096;
/// Longest Plan::expected: one hour.
inline constexpr std::uint32_t kMaxExpectedMilliseconds = 3'600'000;
/// Longest Heartbeat::round: a day.
inline constexpr std::uint32_t kMaxRoundMilliseconds = 86'400'000;
/// Steps by which the state that a sample was computed on may be older than its round's state,
/// so a trainer takes part in every so many rounds at the least.
inline constexpr std::uint32_t kMaxStaleSteps = 4;
/// Largest frame inside a Relay.
inline constexpr std::size_t kMaxRelayedBytes = kMaxFrameBytes - kMaxOverheadBytes;
/// Largest member list of a record and largest vote list of a certificate.
inline constexpr std::size_t kMaxRecordBytes = kMaxMembers * (kLineBytes + kAddedBytes);
inline constexpr std::size_t kMaxCertificateBytes = kMaxVoters * kVoteBytes;

// The relations between the limits.
static_assert(kFormBytes % kMessageAlignment == 0 && kSignatureBytes % kMessageAlignment == 0,
              "a message is aligned in its frame, with and without a signature");
static_assert(kChunkElements * sizeof(float) + kMaxOverheadBytes <= kMaxFrameBytes);
static_assert(kChunkElements % kInt8BlockElements == 0, "the largest chunk has whole blocks");
static_assert(kMaxMembers == 1u << 10 && kMaxInt8Code < 1 << 7 && kMaxInt8Exponent <= 127 + 111,
              "the largest sum of codes is below 2^(10 + 7 + 111), as floats are");
static_assert(kMaxInt8Exponent <= kMaxHalfExponent, "kMaxHalfExponent is the limit of any codec");
static_assert(kLeafBytes + kMaxOverheadBytes <= kMaxFrameBytes);
static_assert(kMaxMembers * (kMemberBytes + kAddedBytes) + kMaxRanges * kRangeBytes +
                      kMaxReducers * (kReducerBytes + sizeof(std::uint32_t)) + kMaxOverheadBytes <=
                  kMaxRelayedBytes,
              "a plan fits a relayed frame");
static_assert(kMaxRecordBytes + kMaxCertificateBytes + kMaxOverheadBytes <= kMaxRelayedBytes,
              "a commit fits a relayed frame");
static_assert(kMaxOfferedLeaves * kDigestBytes + kMaxCertificateBytes + kMaxOverheadBytes <=
                  kMaxFrameBytes,
              "an offer of a state fits a frame");
static_assert(kMaxLeaves * kDigestBytes / kLeafBytes <= kMaxOfferedLeaves,
              "an offer has the digests of the leaves of the longest list of digests");
static_assert(kMaxOfferedLeaves * kDigestBytes + kMaxRecordBytes + kMaxCertificateBytes +
                      kMaxOverheadBytes <=
                  kMaxFrameBytes,
              "an offer of a round fits a frame");
static_assert(kMaxElements <= kMaxChunks * kChunkElements, "chunks cover the largest vector");
static_assert(kMaxElements <= UINT64_MAX / kMaxMembers,
              "the sum of the elements that a round's members reduce does not overflow");
static_assert(kMaxSamples <= UINT64_MAX / kMaxMembers,
              "the sum of a round's samples does not overflow");
static_assert(kMaxBytesPerSecond <= UINT64_MAX / kMaxMembers,
              "the sum of all bandwidths does not overflow");
static_assert(kMaxVoters <= kMaxMembers);
static_assert(kMaxReducers <= kMaxMembers && kMaxMembers <= kMaxRanges);

}  // namespace dedloc::wire
