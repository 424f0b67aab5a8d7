// The one place that knows all kinds of networks: opens the task of a run.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "boinc_app/training/task.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::tasks {

/// The files of a run that a job brings.
struct TaskFiles {
    std::vector<std::filesystem::path> shards;  ///< at least one
    std::filesystem::path module;               ///< unused unless the run trains one
};

/// Opens the run's task on these files, which it maps and checks. `run` must outlive it.
///
/// Errors  as inputs::open_shards and open_module; InputError: data that the task cannot use, or a
///         module that must not run
std::unique_ptr<training::Task> open_task(const formats::RunFile& run, const TaskFiles& files);

}  // namespace dedloc::tasks
