// A shard of samples that are tensors of fixed shapes, for modules that researchers bring. A shard
// is used in place, in a mapped file or a buffer.
//
// File      16-byte head {magic u32, tensors of a sample u32, samples u64}, then for each tensor
//           72 bytes {type u32, dimensions u32, extents 8 × u64, unused ones 0}, then the arrays
//           [samples, extents…], row-major, each at the next multiple of 64 bytes, zeros between.
//           All little-endian. The file ends with the last array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/result.hpp"

namespace dedloc::formats {

/// The type of a tensor's elements. The numbers are those of the file.
enum class ElementType : std::uint8_t {
    kFloat32 = 1,  ///< IEEE 754, 4 bytes
    kInt64 = 2,    ///< two's complement, 8 bytes
    kUint8 = 3,    ///< a byte
};
/// Bytes of an element.
std::size_t size_of(ElementType type);

inline constexpr std::size_t kMaxSampleTensors = 16;  ///< tensors of a sample
inline constexpr std::size_t kMaxSampleExtents = 7;   ///< dimensions, without that of the samples
/// Bytes of one tensor of a sample.
inline constexpr std::uint64_t kMaxSampleBytes = std::uint64_t{1} << 30;

/// One tensor of a sample.
struct SampleTensor {
    ElementType type = ElementType::kFloat32;  ///< type of an element
    std::vector<std::uint64_t> shape;          ///< extents, none of them 0; empty: a number
    /// Bytes of its elements. Requires at most kMaxSampleBytes.
    std::uint64_t bytes() const;
    bool operator==(const SampleTensor&) const = default;
};

/// The contents of a shard. The arrays are parts of `file`. A copy costs nothing.
struct TensorShard {
    std::vector<SampleTensor> specs;                 ///< the tensors of a sample
    std::uint64_t samples = 0;                       ///< number of samples
    std::vector<std::span<const std::byte>> arrays;  ///< one for each tensor
    std::span<const std::byte> file;                 ///< the whole file
    std::shared_ptr<const void> owner;               ///< keeps `file` alive
    /// How many times as often as a sample of a shard with weight 1 one of its samples is drawn.
    std::uint64_t weight = 1;
    std::uint32_t source = 0;  ///< ShardReference::source
    /// The bytes of a tensor of a sample. Requires tensor < specs.size(), sample < samples.
    std::span<const std::byte> row(std::size_t tensor, std::uint64_t sample) const;
};

/// Why a shard of tensors is refused.
enum class TensorShardError : std::uint8_t {
    kTooShort,       ///< the bytes end within the head or an array
    kNotAShard,      ///< wrong magic number
    kTrailingBytes,  ///< more bytes than the head says
    kBadCounts,      ///< no sample, no tensor, or too many
    kBadTensor,      ///< an unknown type, an extent of 0, too many extents or bytes
    kBadPadding,     ///< unused bytes are not 0
};
/// A clause for error messages.
const char* describe(TensorShardError error);

/// Writes a shard: `arrays` are the samples of each tensor. Requires at least one sample, and sizes
/// that fit (DEDLOC_CHECK).
Buffer encode_tensor_shard(const std::vector<SampleTensor>& specs, std::uint64_t samples,
                           std::span<const std::span<const std::byte>> arrays);

/// The shard in a file, read in place. Untrusted input: reads the head, allocates as much as that.
/// `bytes` must stay alive as long as `owner`.
Result<TensorShard, TensorShardError> decode_tensor_shard(std::span<const std::byte> bytes,
                                                          std::shared_ptr<const void> owner);
/// The same for a buffer that the shard takes over.
Result<TensorShard, TensorShardError> decode_tensor_shard(Buffer bytes);

}  // namespace dedloc::formats
