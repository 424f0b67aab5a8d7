// What a backbone keeps of the history, as byte strings for its files. Not signed as a whole: a
// decision carries its votes, a generation its signature, and a voter's state is the keeper's own.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "peer/base/bytes.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::wire {

/// Requires every bound of limits.hpp (DEDLOC_CHECK).
Buffer encode(const VoterState& state);
Buffer encode(const SignedGeneration& generation);
Buffer encode(const Decision& decision);

/// Untrusted input: nothing for anything that encode() does not make.
std::optional<VoterState> decode_voter_state(std::span<const std::byte> bytes);
std::optional<SignedGeneration> decode_generation(std::span<const std::byte> bytes);
std::optional<Decision> decode_decision(std::span<const std::byte> bytes);

}  // namespace dedloc::wire
