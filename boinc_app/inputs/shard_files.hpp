// The shards of a job, and those that are held out, used in place.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "peer/formats/picture_shard.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/shard.hpp"
#include "peer/formats/tensor_shard.hpp"

namespace dedloc::inputs {

/// Maps shards and checks each against the run file in one pass: size, digest, structure. Its
/// weight and source are the run file's. A shard holds text (formats::Shard), pictures
/// (formats::PictureShard) or tensors (formats::TensorShard).
///
/// Memory  pages are dropped after the pass and come back when samples need them
/// Errors  one sentence that names the file: DamagedInput if it is cut off, not one of the run's
///         shards, or held out; InputError if it is missing or its text has another vocabulary than
///         the run; InputError without a path; IoError
template <class Shard = formats::Shard>
std::vector<Shard> open_shards(std::span<const std::filesystem::path> paths,
                               const formats::RunFile& run);

/// Maps and checks all held-out shards of the run, in the order of the run file. They are files in
/// `folder`, with the names that the run file gives them.
///
/// Errors  InputError with one sentence: the run has none, or one is missing, cut off or altered;
///         IoError
template <class Shard = formats::Shard>
std::vector<Shard> open_held_out_shards(const std::filesystem::path& folder,
                                        const formats::RunFile& run);

}  // namespace dedloc::inputs
