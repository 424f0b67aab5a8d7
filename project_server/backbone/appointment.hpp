// The appointment of a new voter on another machine: one file that `dedloc run appoint` writes and
// `dedloc-backbone --voter` reads. It holds a secret key and must be used only once.
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

/// The part of an appointment that the voter reads at every start.
struct VoterSettings {
    formats::SignedTicket ticket;  ///< for the voter's key in this run
    std::uint64_t generation =
        0;  ///< the current one when this was written; it votes in later ones
    std::vector<std::string> seeds;  ///< DHT seeds, HOST:PORT
    std::string backbone;            ///< HOST:PORT of the run's own backbone; may be empty
    bool operator==(const VoterSettings&) const = default;
};

/// The contents of the file.
struct Appointment {
    formats::RunFile run;    ///< the run to vote in
    KeyPair key;             ///< the voter's secret key
    VoterSettings settings;  ///< becomes voter.json
};

/// The text of the file, and that of voter.json. Errors: InputError (a run file that cannot be
/// written).
std::string write_appointment(const Appointment& appointment);
std::string write_voter_settings(const VoterSettings& settings);

/// Parses untrusted text; every message begins with `document`. Errors: InputError; in
/// read_appointment also for a ticket that is not the project's, or is for another key or run.
Appointment read_appointment(std::string_view text, const std::string& document);
VoterSettings read_voter_settings(std::string_view text, const std::string& document);

/// Throws InputError unless the ticket is the project's and is for `key` in `run`.
void check_voter_settings(const VoterSettings& settings, const formats::RunFile& run,
                          const PeerKey& key, const std::string& document);

}  // namespace dedloc::backbone
