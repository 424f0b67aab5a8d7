// Records of the history as byte strings, for the files of a backbone. The byte strings are not
// signed: a decision contains its votes, a generation its signature, and a voter's state is the
// backbone's own.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "peer/base/bytes.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::wire {

/// The record as bytes. Requires every bound of limits.hpp (DEDLOC_CHECK).
Buffer encode(const VoterState& state);
Buffer encode(const SignedGeneration& generation);
Buffer encode(const Decision& decision);

/// The record in these bytes. Untrusted input: nothing for bytes that encode() cannot produce.
std::optional<VoterState> decode_voter_state(std::span<const std::byte> bytes);
std::optional<SignedGeneration> decode_generation(std::span<const std::byte> bytes);
std::optional<Decision> decode_decision(std::span<const std::byte> bytes);

}  // namespace dedloc::wire
