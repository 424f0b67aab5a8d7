// The single steps of encode() and decode(). Tests and fuzzing use them to reach the code behind
// the signature check; tools use them to watch traffic without checking signatures.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "peer/base/bytes.hpp"
#include "peer/base/result.hpp"
#include "peer/wire/message.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::wire {

// File identifiers of FlatBuffers: a record of one kind is never read as another kind.
inline constexpr const char* kVoterStateIdentifier = "DLV2";
inline constexpr const char* kGenerationIdentifier = "DLG2";
inline constexpr const char* kDecisionIdentifier = "DLD2";

// --- message_pack.cpp ---

/// A packed message. The elements of a chunk are not copied into it.
struct Packed {
    Buffer around;                ///< all bytes except the elements
    std::size_t bulk_at = 0;      ///< how many of them come before the elements
    SharedSlice<std::byte> bulk;  ///< the elements; empty if the message is not a chunk
};
/// `head_bytes` zeros, then the payload of a frame. Checks no bounds.
Packed pack(const Message& message, std::size_t head_bytes = 0);
/// The plan as one FlatBuffers table: what its digest covers. Checks no bounds.
Buffer pack(const Plan& plan);
/// The record as one FlatBuffers table with its file identifier. Checks no bounds.
Buffer pack(const VoterState& state);
Buffer pack(const SignedGeneration& generation);
Buffer pack(const Decision& decision);

// --- message_unpack.cpp ---

/// The message in a payload. Untrusted input.
/// Errors: kMalformed if the verifier refuses it; kOutOfBounds if it has no value in C++ (a list is
/// too long, parallel lists differ in length, an enumerator is unknown). Other bounds are not
/// checked.
/// The elements of a chunk share `owner`, which holds the payload; null: they are copied.
Result<Message, DecodeError> unpack(std::span<const std::byte> payload,
                                    const SharedBytes& owner = nullptr);
/// body_index() for the payload of a frame.
std::optional<std::size_t> packed_body_index(std::span<const std::byte> payload);
/// The record in these bytes; nothing if the verifier refuses them or a list is too long. Untrusted
/// input. Other bounds are not checked.
std::optional<VoterState> unpack_voter_state(std::span<const std::byte> bytes);
std::optional<SignedGeneration> unpack_generation(std::span<const std::byte> bytes);
std::optional<Decision> unpack_decision(std::span<const std::byte> bytes);

// --- message_bounds.cpp ---

/// Whether every field keeps its bounds of limits.hpp and no field contradicts another.
bool is_within_bounds(const Message& message);
bool is_within_bounds(const Plan& plan);
bool is_within_bounds(const VoterState& state);
bool is_within_bounds(const SignedGeneration& generation);
bool is_within_bounds(const Decision& decision);

// --- message.cpp ---

/// The part of a frame that a signature covers. Empty if the bytes do not have the form of a frame.
std::span<const std::byte> payload_of(std::span<const std::byte> frame);
/// The frame of a message, signed if there is a key. Checks no bounds.
SharedBytes frame_of(const Message& message, const KeyPair* key);
/// decode() without any check of the signature.
Result<Message, DecodeError> decode_unverified(std::span<const std::byte> frame);

}  // namespace dedloc::wire
