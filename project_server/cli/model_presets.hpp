// Models and their training settings by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "peer/formats/run_file.hpp"

namespace dedloc::cli {

/// What `--model NAME` stands for. The vocabulary is the corpus's.
struct ModelPreset {
    formats::ModelSpec model;
    std::uint64_t sequence_length = 0;
    std::uint64_t micro_batch = 0;
    std::uint64_t target_batch = 0;
    double learning_rate = 0;  ///< the peak
};

/// Errors: InputError that lists the names there are.
ModelPreset model_preset(const std::string& name);

}  // namespace dedloc::cli
