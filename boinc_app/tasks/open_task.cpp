#include "boinc_app/tasks/open_task.hpp"

#include "boinc_app/albert/albert_task.hpp"
#include "boinc_app/inputs/shard_files.hpp"
#include "boinc_app/swav/swav_task.hpp"
#include "peer/formats/task.hpp"

namespace dedloc::tasks {

std::unique_ptr<training::Task> open_task(const formats::RunFile& run,
                                          std::span<const std::filesystem::path> shards) {
    if (formats::holds_text(run)) {
        return std::make_unique<training::albert::AlbertTask>(run,
                                                              inputs::open_shards(shards, run));
    }
    return std::make_unique<swav::SwavTask>(run, inputs::open_picture_shards(shards, run));
}

}  // namespace dedloc::tasks
