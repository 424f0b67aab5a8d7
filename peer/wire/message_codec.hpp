// The steps of encode() and decode() one by one, for tests, fuzzing and onlookers: they reach what
// a signature guards.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "peer/base/bytes.hpp"
#include "peer/base/result.hpp"
#include "peer/wire/message.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::wire {

// File identifiers: a record is never taken for one of another kind.
inline constexpr const char* kVoterStateIdentifier = "DLV2";
inline constexpr const char* kGenerationIdentifier = "DLG2";
inline constexpr const char* kDecisionIdentifier = "DLD2";

// --- message_pack.cpp ---

/// What a message is packed to: a chunk's elements stay where they are.
struct Packed {
    Buffer around;            ///< all other bytes
    std::size_t bulk_at = 0;  ///< so many of them come before the elements
    SharedSlice<std::byte> bulk;
};
/// `room` zeros, then the payload of a frame. Checks no bound.
Packed pack(const Message& message, std::size_t head_bytes = 0);
Buffer pack(const VoterState& state);
Buffer pack(const SignedGeneration& generation);
Buffer pack(const Decision& decision);

// --- message_unpack.cpp ---

/// Untrusted input. What the verifier accepts, as values; of lists only as much as fits their
/// limits. Errors: kMalformed; kOutOfBounds for what cannot be a value at all (lists too long or
/// that should be of one length, numbers of no enumeration).
/// A chunk's elements may stay where they are, if there is an `owner` of the payload to hold.
Result<Message, DecodeError> unpack(std::span<const std::byte> payload,
                                    const SharedBytes& owner = nullptr);
/// body_index() of a frame's payload.
std::optional<std::size_t> packed_body_index(std::span<const std::byte> payload);
std::optional<VoterState> unpack_voter_state(std::span<const std::byte> bytes);
std::optional<SignedGeneration> unpack_generation(std::span<const std::byte> bytes);
std::optional<Decision> unpack_decision(std::span<const std::byte> bytes);

// --- message_bounds.cpp ---

/// Whether a value keeps every bound of limits.hpp and does not contradict itself.
bool is_within_bounds(const Message& message);
bool is_within_bounds(const VoterState& state);
bool is_within_bounds(const SignedGeneration& generation);
bool is_within_bounds(const Decision& decision);

// --- message.cpp ---

/// What a signature covers. Empty for what has not the form of a frame.
std::span<const std::byte> payload_of(std::span<const std::byte> frame);
/// Signed if there is a key. Checks no bound.
SharedBytes frame_of(const Message& message, const KeyPair* key);
/// decode() for those who only look: whether it is signed, and by whom, is not asked.
Result<Message, DecodeError> decode_unverified(std::span<const std::byte> frame);

}  // namespace dedloc::wire
