// Files of tensors whose first dimension is the sample: .npy of NumPy, and .safetensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "peer/formats/tensor_shard.hpp"

namespace dedloc::corpus {

/// One tensor of all samples, used in place.
struct TensorSource {
    std::string name;                   ///< for messages
    formats::SampleTensor tensor;       ///< that of one sample
    std::uint64_t samples = 0;          ///< at least 1
    std::span<const std::byte> bytes;   ///< samples × tensor.bytes()
    std::shared_ptr<const void> owner;  ///< keeps `bytes` mapped
};

/// Opens an untrusted file. A .npy file has one tensor; those of a .safetensors file come in the
/// order of their names.
///
/// Errors  InputError with one sentence: another format, damaged, a type other than float32, int64
///         and uint8, Fortran order, no sample, a sample that is too large; IoError
std::vector<TensorSource> open_tensors(const std::filesystem::path& path);

}  // namespace dedloc::corpus
