// What the samples of a run cost a trainer at least, to bound the samples that a device can train.
#pragma once

#include <filesystem>

#include "peer/formats/run_file.hpp"
#include "peer/formats/shard.hpp"

namespace dedloc::corpus {

/// The mean of formats::albert_min_flops() over all samples that may be drawn from the shard. A
/// sample ends with its document, so it is short in a text of short documents. 0: no sample can be
/// drawn.
double mean_sample_flops(const formats::Shard& shard, const formats::RunFile& run);

/// The smallest of these means over the run's training shards, which are files in `folder`: a job
/// may have one of them alone. 0 if none has samples. Errors: InputError (not a shard), IoError.
/// Cost: reads all of them.
double min_sample_flops(const std::filesystem::path& folder, const formats::RunFile& run);

}  // namespace dedloc::corpus
