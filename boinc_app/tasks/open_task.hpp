// The one place that knows all kinds of networks: opens the task of a run.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "boinc_app/training/task.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::tasks {

/// Opens the run's task on these shards, which it maps and checks. `run` must outlive it.
///
/// Errors  as inputs::open_shards; InputError: data that the task cannot use
std::unique_ptr<training::Task> open_task(const formats::RunFile& run,
                                          std::span<const std::filesystem::path> shards);

}  // namespace dedloc::tasks
