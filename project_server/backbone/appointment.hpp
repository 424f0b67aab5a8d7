// What the project hands to a new voter on another machine: one file that `dedloc run appoint`
// writes and `dedloc-backbone --voter` takes in. It holds a secret key and can be used once.
//
//     {"format": "dedloc voter 1", "run_file": "<run.json as text>", "key": "<secret, 64 hex>",
//      "voter": {"ticket": "<hex>", "generation": 0, "seeds": ["HOST:PORT"], "backbone": ""}}
//
// The member `voter` becomes the file voter.json in the voter's folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/ticket.hpp"

namespace dedloc::backbone {

struct VoterSettings {
    formats::SignedTicket ticket;    ///< of the voter's key in this run
    std::uint64_t generation = 0;    ///< when it was written: the voter is for a later one
    std::vector<std::string> seeds;  ///< of the DHT, HOST:PORT
    std::string backbone;            ///< HOST:PORT of the run's own backbone; may be empty
    bool operator==(const VoterSettings&) const = default;
};

struct Appointment {
    formats::RunFile run;
    KeyPair key;
    VoterSettings settings;
};

/// Errors: InputError (a run file that cannot be written).
std::string write_appointment(const Appointment& appointment);
std::string write_voter_settings(const VoterSettings& settings);

/// Untrusted text; `document` begins every message. Errors: InputError, also for a ticket that is
/// not the project's, or not of this key and run.
Appointment read_appointment(std::string_view text, const std::string& document);
VoterSettings read_voter_settings(std::string_view text, const std::string& document);

/// Why `settings` are of no use to the voter with `key` in `run`. Errors: InputError.
void check_voter_settings(const VoterSettings& settings, const formats::RunFile& run,
                          const PeerKey& key, const std::string& document);

}  // namespace dedloc::backbone
