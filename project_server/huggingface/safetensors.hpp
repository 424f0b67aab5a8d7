// The file format safetensors: the length of a JSON header (u64, little-endian), the header with
// name, type, shape and place of every tensor, then their bytes without gaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "peer/platform/durable_file.hpp"

namespace dedloc::huggingface {

/// Largest header that is read, in bytes. That of ALBERT has about 4 KB.
inline constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{1} << 22;

/// One tensor of a file.
struct StoredTensor {
    std::string name;                  ///< unique in the file
    std::string type;                  ///< "F32", "BF16", "I64", …
    std::vector<std::uint64_t> shape;  ///< extents; empty: one element
    std::uint64_t begin = 0;           ///< first byte, from the end of the header
    std::uint64_t end = 0;             ///< the byte after the last one
    /// Number of elements.
    std::uint64_t count() const;
    bool operator==(const StoredTensor&) const = default;
};

/// The header of a file.
struct SafetensorsHeader {
    std::vector<StoredTensor> tensors;  ///< in the order of their bytes
    std::map<std::string, std::string> metadata;
    bool operator==(const SafetensorsHeader&) const = default;
};

/// The first bytes of a file of fp32 tensors: length and header, whose metadata is the one that
/// transformers asks for. Ignores type, begin and end: the tensors follow one another in the given
/// order. The result's length is a multiple of 8.
std::string write_safetensors_head(std::vector<StoredTensor> tensors);

/// Reads a header from an untrusted file. `document` is the file's name for messages, `data_bytes`
/// the number of bytes after the header.
/// Errors   InputError: no JSON, unknown fields or types, a size that does not fit shape and type,
///          tensors that overlap or leave gaps
SafetensorsHeader parse_safetensors_header(const std::string& document, std::string_view json,
                                           std::uint64_t data_bytes);

/// An untrusted file, open for reading.
class SafetensorsFile final {
  public:
    /// Reads the header. Errors: InputError (no file, not this format), IoError.
    explicit SafetensorsFile(const std::filesystem::path& path);

    const SafetensorsHeader& header() const { return header_; }
    /// The tensor of this name; null if the file has none.
    const StoredTensor* find(std::string_view name) const;

    /// Reads a tensor of type F32, F16 or BF16 as fp32; every value converts exactly.
    /// Requires as many elements as the tensor has (aborts).
    /// Errors   InputError: another type, or a value that is not finite
    void read(const StoredTensor& tensor, std::span<float> out) const;
    /// Reads a tensor of type I64. Errors: InputError: another type.
    std::vector<std::int64_t> read_integers(const StoredTensor& tensor) const;

  private:
    void read_bytes(const StoredTensor& tensor, std::uint64_t offset,
                    std::span<std::byte> out) const;

    const std::string name_;  ///< for messages
    const platform::DurableFile file_;
    std::uint64_t data_offset_ = 0;
    SafetensorsHeader header_;
};

}  // namespace dedloc::huggingface
