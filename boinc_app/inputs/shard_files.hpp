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

/// Maps a shard and checks it against the run file in one pass: size, digest, structure. Its weight
/// and source are the run file's.
///
/// Memory  pages are dropped after the pass and come back when samples need them
/// Errors  one sentence that names the file: DamagedInput if it is cut off, not one of the run's
///         shards, or held out; InputError if it is missing or has another vocabulary than the run;
///         IoError
formats::Shard open_shard(const std::filesystem::path& path, const formats::RunFile& run);

/// Maps and checks all held-out shards of the run, in the order of the run file. They are files in
/// `folder`, with the names that the run file gives them.
///
/// Errors  InputError with one sentence: the run has none, or one is missing, cut off or altered;
///         IoError
std::vector<formats::Shard> open_held_out_shards(const std::filesystem::path& folder,
                                                 const formats::RunFile& run);

/// The same for several. Errors: also InputError when there is none.
std::vector<formats::Shard> open_shards(std::span<const std::filesystem::path> paths,
                                        const formats::RunFile& run);

/// The same for shards of pictures.
std::vector<formats::PictureShard> open_picture_shards(std::span<const std::filesystem::path> paths,
                                                       const formats::RunFile& run);

/// As open_held_out_shards, for shards of pictures.
std::vector<formats::PictureShard> open_held_out_picture_shards(const std::filesystem::path& folder,
                                                                const formats::RunFile& run);

/// As open_held_out_shards, for shards of tensors.
std::vector<formats::TensorShard> open_held_out_tensor_shards(const std::filesystem::path& folder,
                                                              const formats::RunFile& run);

/// As open_shards, for shards of tensors.
std::vector<formats::TensorShard> open_tensor_shards(std::span<const std::filesystem::path> paths,
                                                     const formats::RunFile& run);

}  // namespace dedloc::inputs
