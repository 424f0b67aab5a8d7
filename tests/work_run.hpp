// The files of a run that jobs are made of: two shards, and a model that a trainer could have.
#pragma once

#include <filesystem>

#include "peer/base/digest.hpp"
#include "peer/formats/albert_layout.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/platform/files.hpp"
#include "tests/small_run.hpp"

namespace dedloc::tests {

inline formats::RunFile work_run() {
    formats::RunFile run = small_run();
    run.target_batch = 8;
    run.steps = 10;
    run.project_key = KeyPair::generate().public_key();
    run.backbone_key = KeyPair::generate().public_key();
    run.dht_seeds = {{.host = "127.0.0.1", .port = 1234}};
    run.shards = {{.name = "shard_a", .digest = {}, .bytes = 5},
                  {.name = "shard_b", .digest = {}, .bytes = 5}};
    run.tensors = formats::albert_tensors(formats::albert_of(run));
    return run;
}

/// Makes the folder of the run.
inline void write_work_run(const std::filesystem::path& folder, const formats::RunFile& run) {
    std::filesystem::create_directories(folder / "shards");
    platform::replace_file(folder / "run.json", formats::write_run_file(run));
    platform::replace_file(folder / "shards/shard_a", "aaaaa");
    platform::replace_file(folder / "shards/shard_b", "bbbbb");
}

}  // namespace dedloc::tests
