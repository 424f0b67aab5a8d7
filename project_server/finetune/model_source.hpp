// The models that a command line names for fine-tuning, with their tokenizers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "project_server/finetune/fine_tuning.hpp"
#include "project_server/finetune/token_rows.hpp"

namespace dedloc::finetune {

/// A model with its tokenizer.
struct SourceModel {
    std::string name;              ///< for tables: "FOLDER", "run NAME, step 40", "untrained"
    std::string notice{};          ///< a sentence for the user; empty: none
    BaseModel base{};              ///< parameters
    Encode encode{};               ///< its tokenizer
    std::filesystem::path card{};  ///< its README.md; empty: it has none
};

/// Loads
/// - a Hugging Face folder of ALBERT (config.json), as dedloc run export writes, or any other one;
/// - a run's folder (run.json): its newest checkpoint, proven or not;
/// - a checkpoint in a run's folder.
///
/// `max_tokens` becomes the run's sequence length.
/// Errors   InputError in one sentence: none of these, a file that is missing or cannot be used, a
///          tokenizer with more pieces than the model, fewer positions than max_tokens; IoError
SourceModel load_model(const std::filesystem::path& path, std::uint64_t max_tokens);

/// A network of the same sizes and with the same tokenizer, with the first values of a new run.
SourceModel untrained_like(const SourceModel& model, std::uint64_t seed);

}  // namespace dedloc::finetune
