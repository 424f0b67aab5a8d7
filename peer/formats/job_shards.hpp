// Which shards of a run a job trains on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "peer/formats/run_file.hpp"

namespace dedloc::formats {

/// The shards that are not held out, in the order of the run file.
std::vector<ShardReference> training_shards(const RunFile& run);
/// The shards that are held out, in the order of the run file.
std::vector<ShardReference> held_out_shards(const RunFile& run);

/// Number of shards of each job: RunFile::shards_per_job, or all if that is 0.
std::size_t shards_per_job(const RunFile& run);

/// The shards of the job with this number, all different. Jobs take turns: of any consecutive jobs
/// as many as there are training shards, each shard is in equally many.
std::vector<ShardReference> shards_of_job(const RunFile& run, std::uint64_t job);

}  // namespace dedloc::formats
