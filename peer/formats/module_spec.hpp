// A TorchScript module that a researcher brings, as a run file names it: a network and its loss in
// a file of their own, which trainers get beside the run file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/formats/tensor_shard.hpp"

namespace dedloc::formats {

/// Largest file of a module, in bytes.
inline constexpr std::uint64_t kMaxModuleBytes = std::uint64_t{1} << 31;

/// A module and its data.
struct ModuleSpec {
    std::string name;              ///< name of the file
    Digest digest;                 ///< BLAKE2b of the file
    std::uint64_t bytes = 0;       ///< size of the file
    std::uint64_t vocabulary = 0;  ///< text: token ids are below this; 0: shards hold tensors
    /// The tensors of a sample, in the order of forward's arguments. Empty for text, whose only
    /// tensor is a window of RunFile::sequence_length token ids.
    std::vector<SampleTensor> inputs;
    double flops = 0;  ///< floating-point operations to train on one sample, as its author measured
    std::uint64_t sample_bytes = 0;  ///< memory that one sample's pass takes, likewise
    bool operator==(const ModuleSpec&) const = default;
};

}  // namespace dedloc::formats
