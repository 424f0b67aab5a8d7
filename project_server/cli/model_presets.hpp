// Models and their training settings by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "peer/formats/run_file.hpp"

namespace dedloc::cli {

/// The settings that `--model NAME` stands for. The size of the vocabulary comes from the corpus.
struct ModelPreset {
    formats::ModelSpec model;           ///< architecture, without the vocabulary
    std::uint64_t sequence_length = 0;  ///< tokens per sample
    std::uint64_t target_batch = 0;     ///< samples of one step
    double learning_rate = 0;           ///< peak of the schedule with LAMB
};

/// The preset with this name. Errors: InputError that lists the known names.
ModelPreset model_preset(const std::string& name);

}  // namespace dedloc::cli
