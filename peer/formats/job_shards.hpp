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
///
/// In a run with sources every job has shards of each of them, about in proportion to their
/// numbers and at least one, so that every job can follow every mixture; the shards of a source
/// take turns as above. If a run asks for fewer shards than it has sources, a job has one of each.
std::vector<ShardReference> shards_of_job(const RunFile& run, std::uint64_t job);

}  // namespace dedloc::formats
