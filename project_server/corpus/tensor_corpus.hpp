// A corpus of tensors, for runs of a module that a researcher brings: a folder with shards
// (peer/formats/tensor_shard.hpp) and a summary, tensors.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "peer/formats/run_file.hpp"
#include "peer/formats/tensor_shard.hpp"

namespace dedloc::corpus {

/// The contents of tensors.json.
struct TensorCorpus {
    std::vector<formats::SampleTensor> inputs;    ///< the tensors of a sample
    std::uint64_t samples = 0;                    ///< in all shards
    std::uint64_t held_out = 0;                   ///< those among them in held-out shards
    std::vector<formats::ShardReference> shards;  ///< each name is a file in the folder
    bool operator==(const TensorCorpus&) const = default;
};

/// Arguments of build_tensor_corpus().
struct TensorOptions {
    /// .npy and .safetensors files, whose tensors are forward's arguments in this order.
    std::vector<std::filesystem::path> files;
    double held_out = 0.01;                               ///< share of the samples
    std::filesystem::path folder;                         ///< must not exist yet, or be empty
    std::uint64_t shard_bytes = std::uint64_t{64} << 20;  ///< a shard has at most so many
    std::uint64_t seed = 0;  ///< chooses the held-out samples and the order of all
};

/// Builds a corpus of tensors. Equal files and options give equal bytes. Samples are mixed, so that
/// every shard has some of each kind. The folder appears only when it is complete.
///
/// Errors  InputError (as open_tensors(); tensors with different numbers of samples; a sample
///         larger than a shard; too many shards; nothing to train on), IoError
/// Memory  a shard, and 8 bytes for each sample
TensorCorpus build_tensor_corpus(const TensorOptions& options);

/// Reads folder/tensors.json. Errors: InputError that names the field.
TensorCorpus read_tensor_corpus(const std::filesystem::path& folder);

}  // namespace dedloc::corpus
