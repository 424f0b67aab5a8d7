// FLEET.json: who takes part, and what they average.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "peer/planning/advice.hpp"

namespace dedloc::plan {

struct Fleet {
    std::vector<std::string> names;  ///< in the order of the file, each once
    std::string codec;
    std::string average_codec;
    /// target_batch 0: not given.
    planning::TrainingRequest training;
};

/// Errors: InputError, one sentence that names the field, and the peer if it is one's.
Fleet parse_fleet(std::string_view document, std::string_view text);

/// Errors: as parse_fleet; IoError when the file cannot be read.
Fleet read_fleet(const std::filesystem::path& path);

}  // namespace dedloc::plan
