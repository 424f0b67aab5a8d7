// ALBERT as a task that a worker shares.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "boinc_app/albert/albert_task.hpp"

namespace dedloc::test {

inline std::shared_ptr<const training::Task> albert_task(const formats::RunFile& run,
                                                         std::span<const formats::Shard> shards) {
    return std::make_shared<training::albert::AlbertTask>(
        run, std::vector<formats::Shard>{shards.begin(), shards.end()});
}

}  // namespace dedloc::test
