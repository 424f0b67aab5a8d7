// Who decides in a run: appointing voters, dismissing them, and who votes now.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/formats/ticket.hpp"

namespace dedloc::cli {

struct AppointOptions {
    std::filesystem::path project;
    std::string run;
    std::filesystem::path file;      ///< for the new voter; exclusive with `key`
    std::string key;                 ///< of an existing peer, 64 hex digits
    std::vector<std::string> seeds;  ///< of the DHT as the voter reaches them; empty: the run's
    std::string backbone;            ///< HOST:PORT where the voter reaches the run's own backbone
};

struct VotersChange {
    PeerKey key;             ///< appointed or dismissed
    std::size_t voters = 0;  ///< wanted from now on
};

/// Adds a voter to those that are wanted. With `file`: a new one, whose key, ticket and run file
/// the file then holds, readable by the owner alone. The key of the run's own backbone may be
/// appointed again if it has lost its memory. Errors: InputError (no such run, the file is there
/// already, a voter already, too many), IoError.
VotersChange appoint(const AppointOptions& options);

/// Takes a voter from those that are wanted, and its ticket back if the project gave it one.
/// `prefix` is a key or its first digits. Errors: InputError (no such voter, several, the last
/// one), IoError, DatabaseError.
VotersChange dismiss(const std::filesystem::path& project, const std::string& run,
                     const std::string& prefix);

struct VoterLine {
    PeerKey key;
    bool is_own_backbone = false;
    bool votes = false;                    ///< in the generation that the ledger is in
    bool is_wanted = false;                ///< by the administrator
    formats::UtcSeconds ticket_expires{};  ///< 0: the project gave none
};
struct VotersView {
    std::uint64_t generation = 0;
    std::vector<VoterLine> lines;  ///< ascending by key
};
/// Those that vote now or are wanted. Errors: InputError, IoError.
VotersView voters_of(const std::filesystem::path& project, const std::string& run);

}  // namespace dedloc::cli
