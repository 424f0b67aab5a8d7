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

/// Largest side of the squares that a module gets of pictures, in pixels.
inline constexpr std::uint64_t kMaxPictureSide = 1'024;

/// A module and its data.
struct ModuleSpec {
    std::string name;              ///< name of the file
    Digest digest;                 ///< BLAKE2b of the file
    std::uint64_t bytes = 0;       ///< size of the file
    std::uint64_t vocabulary = 0;  ///< text: token ids are below this; 0: shards hold no text
    /// Pictures: side of the square that trainers make of each, in pixels; 0: shards hold none.
    std::uint64_t picture_side = 0;
    /// The tensors of a sample, in the order of forward's arguments. Empty for text, whose only
    /// tensor is a window of RunFile::sequence_length token ids; picture_inputs() for pictures.
    std::vector<SampleTensor> inputs;
    double flops = 0;  ///< floating-point operations to train on one sample, as its author measured
    std::uint64_t sample_bytes = 0;  ///< memory that one sample's pass takes, likewise
    bool operator==(const ModuleSpec&) const = default;
};

/// The tensors of a sample that is a picture: uint8 [3, side, side]; red, green, blue.
inline std::vector<SampleTensor> picture_inputs(std::uint64_t side) {
    return {{.type = ElementType::kUint8, .shape = {3, side, side}}};
}

}  // namespace dedloc::formats
