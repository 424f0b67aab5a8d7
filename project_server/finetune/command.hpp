// dedloc-evaluate finetune: how good a model is after it has learnt a task with labels.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "project_server/finetune/fine_tuning.hpp"

namespace CLI {
class App;
}

namespace dedloc::finetune {

/// The command line.
struct CommandOptions {
    Task task = Task::kNames;                     ///< what is learnt
    std::filesystem::path data;                   ///< folder of the data
    std::vector<std::filesystem::path> models{};  ///< at least one
    Protocol protocol{};                          ///< how it is learnt
    std::uint64_t seeds = 3;                      ///< trainings of each model
    std::uint64_t first_seed = 1;                 ///< seed of the first one
    bool has_untrained = true;                    ///< the untrained network is measured, too
    bool writes_cards = false;                    ///< adds the table to the models' README.md
    std::uint64_t micro_batch = 0;                ///< rows computed at once; 0: as suits
    unsigned threads = 0;                         ///< compute threads; 0: all CPUs
    bool prints_json = false;                     ///< a JSON object instead of a table
};

/// Adds the subcommand `finetune`, which fills `options`.
CLI::App* add_command(CLI::App& app, CommandOptions& options);

/// Fine-tunes and measures each model and prints the results; progress goes to the standard error.
/// A stop signal ends it after the present matrix product; what is finished is printed.
/// Errors   InputError in one sentence: files that are missing or cannot be used; IoError; Error:
///          interrupted
void run_command(const CommandOptions& options);

}  // namespace dedloc::finetune
