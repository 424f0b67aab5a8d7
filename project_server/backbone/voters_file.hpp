// voters.json in a run's folder: the voters that the administrator wants. The backbone that holds
// the project's key checks it every two seconds. Absent: no change is wanted.
//
//     {"min_generation": 0, "voters": [{"key": "<64 hex digits>", "ticket_expires": 1800000000,
//                                       "control": "ssh://dedloc@voter.example.org/srv/voter"}]}
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/formats/ticket.hpp"

namespace dedloc::backbone {

/// One line of the file.
struct WantedVoter {
    PeerKey key;  ///< the voter's key
    /// When the ticket of its appointment expires; 0: it has none.
    formats::UtcSeconds ticket_expires{};
    /// Address of its control plane (control::RemoteEnd::text()) if it is on another machine; else
    /// empty.
    std::string control{};
    bool operator==(const WantedVoter&) const = default;
};

/// The contents of the file.
struct WantedVoters {
    /// Lowest number of the generation that these voters vote in. A number above the current one
    /// asks for a new generation even with the same voters: one of them has lost its memory and is
    /// appointed again.
    std::uint64_t min_generation = 0;
    std::vector<WantedVoter> voters;  ///< ascending by key, 1 to wire::kMaxVoters
    bool operator==(const WantedVoters&) const = default;
};

/// The voters' keys, ascending.
std::vector<PeerKey> keys_of(const WantedVoters& wanted);

/// Nothing if there is no such file. Errors: IoError, InputError (damaged; names the field).
std::optional<WantedVoters> read_voters(const std::filesystem::path& file);
/// Replaces the file, atomically and durably. Errors: IoError.
void write_voters(const std::filesystem::path& file, const WantedVoters& wanted);

}  // namespace dedloc::backbone
