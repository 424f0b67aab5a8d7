// Reads FLEET.json: the peers of a fleet, and the vector that they average.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "peer/planning/advice.hpp"
#include "peer/planning/turns.hpp"

namespace dedloc::plan {

/// The contents of a fleet file.
struct Fleet {
    std::vector<std::string> names;           ///< unique, in the order of the file
    std::string codec;                        ///< name of the codec of contributions
    std::string average_codec;                ///< name of the codec of averages
    planning::TrainingRequest training;       ///< members and vector; target_batch 0: not given
    std::vector<double> micro_batch_seconds;  ///< one for each peer; 0: short
    bool overlaps = false;                    ///< trainers compute while a round is on its way
};

/// The fleet as the coordinator would ask which trainers to call. Requires a target batch.
planning::FleetRequest fleet_request_of(const Fleet& fleet);

/// Parses a fleet file; `document` is its name for error messages. Errors: InputError, a sentence
/// that names the field and, if there is one, the peer.
Fleet parse_fleet(std::string_view document, std::string_view text);

/// Reads and parses a file. Errors: those of parse_fleet; IoError (the file cannot be read).
Fleet read_fleet(const std::filesystem::path& path);

}  // namespace dedloc::plan
