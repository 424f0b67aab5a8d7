#include "boinc_app/tasks/open_task.hpp"

#include "boinc_app/albert/albert_task.hpp"
#include "boinc_app/inputs/shard_files.hpp"

namespace dedloc::tasks {

std::unique_ptr<training::Task> open_task(const formats::RunFile& run,
                                          std::span<const std::filesystem::path> shards) {
    return std::make_unique<training::albert::AlbertTask>(run, inputs::open_shards(shards, run));
}

}  // namespace dedloc::tasks
