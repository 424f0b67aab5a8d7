// Appoints, dismisses and lists the voters of a run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/formats/ticket.hpp"

namespace dedloc::runs {

/// Arguments of appoint(): either `file` or `key` is set.
struct AppointOptions {
    std::filesystem::path project;   ///< the project's folder
    std::string run;                 ///< the run's name
    std::filesystem::path file;      ///< appointment file to write for a new voter
    std::string key;                 ///< key of an existing peer, 64 hex digits
    std::vector<std::string> seeds;  ///< HOST:PORT of DHT seeds for the voter; empty: the run's
    std::string backbone;            ///< HOST:PORT at which the voter reaches the run's backbone
    std::string control{};  ///< control::RemoteEnd::text() of the voter; empty: not reached
};

/// Result of appoint() and dismiss().
struct VotersChange {
    PeerKey key;             ///< the voter appointed or dismissed
    std::size_t voters = 0;  ///< number of wanted voters after the change
};

/// Adds a wanted voter. With `file` it is a new one: the file then contains its secret key, ticket
/// and run file, readable by the owner only. With the key of the run's own backbone, appoints that
/// backbone again after it has lost its vote memory.
///
/// Errors  InputError (no such run, the file exists already, a voter already, too many), IoError
VotersChange appoint(const AppointOptions& options);

/// Removes a wanted voter and revokes its ticket if the project gave it one. `prefix` is a key or
/// its first digits (4 at least).
///
/// Errors  InputError (no such voter, several, the last one), IoError, DatabaseError
VotersChange dismiss(const std::filesystem::path& project, const std::string& run,
                     const std::string& prefix);

/// A voter that votes now, is wanted, or both.
struct VoterLine {
    PeerKey key;                           ///< the voter's key
    bool is_own_backbone = false;          ///< it is the backbone that the run file names
    bool votes = false;                    ///< votes in the ledger's generation
    bool is_wanted = false;                ///< voters.json lists it
    formats::UtcSeconds ticket_expires{};  ///< 0: the project gave no ticket
    std::string control{};                 ///< control::RemoteEnd::text(); empty: not reached
};
/// The voters of a run.
struct VotersView {
    std::uint64_t generation = 0;  ///< the ledger's
    std::vector<VoterLine> lines;  ///< ascending by key
};
/// Lists the voters that vote now or are wanted. Errors: InputError, IoError.
VotersView voters_of(const std::filesystem::path& project, const std::string& run);

}  // namespace dedloc::runs
