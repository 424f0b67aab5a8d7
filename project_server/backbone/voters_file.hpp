// voters.json in a run's folder: who is to vote, as the administrator wants it. The backbone that
// holds the project's key looks at it every two seconds. Absent: nothing is wanted.
//
//     {"min_generation": 0, "voters": [{"key": "<64 hex digits>", "ticket_expires": 1800000000}]}
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/formats/ticket.hpp"

namespace dedloc::backbone {

struct WantedVoter {
    PeerKey key;
    /// Of the ticket that the project gave to it with the appointment; 0: it gave none.
    formats::UtcSeconds ticket_expires{};
    bool operator==(const WantedVoter&) const = default;
};

struct WantedVoters {
    /// Of the generation that they vote in. Above 0 it asks for another generation of the same
    /// voters: one of them has lost its memory and is appointed again.
    std::uint64_t min_generation = 0;
    std::vector<WantedVoter> voters;  ///< ascending by key, 1 to wire::kMaxVoters
    bool operator==(const WantedVoters&) const = default;
};

std::vector<PeerKey> keys_of(const WantedVoters& wanted);

/// Nothing if there is no such file. Errors: IoError, InputError (damaged; names the field).
std::optional<WantedVoters> read_voters(const std::filesystem::path& file);
/// Atomic and durable. Errors: IoError.
void write_voters(const std::filesystem::path& file, const WantedVoters& wanted);

}  // namespace dedloc::backbone
