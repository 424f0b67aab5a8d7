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
#include "project_server/huggingface/tensor_file.hpp"

namespace dedloc::huggingface {

/// Largest header that is read, in bytes. That of ALBERT has about 4 KB.
inline constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{1} << 22;

/// The header of a file.
struct SafetensorsHeader {
    std::vector<StoredTensor> tensors;            ///< in the order of their bytes
    std::map<std::string, std::string> metadata;  ///< the field "__metadata__"
    bool operator==(const SafetensorsHeader&) const = default;
};

/// The first bytes of a file: length and header, whose metadata has the one that transformers asks
/// for and then the given ones. Ignores begin and end: the tensors follow one another in the given
/// order. The result's length is a multiple of 8. Requires types that this program knows
/// (DEDLOC_CHECK).
std::string write_safetensors_head(std::vector<StoredTensor> tensors,
                                   const std::map<std::string, std::string>& metadata = {});

/// Reads a header from an untrusted file. `document` is the file's name for messages, `data_bytes`
/// the number of bytes after the header.
/// Errors   InputError: no JSON, unknown fields or types, a size that does not fit shape and type,
///          tensors that overlap or leave gaps
SafetensorsHeader parse_safetensors_header(const std::string& document, std::string_view json,
                                           std::uint64_t data_bytes);

/// An untrusted file, open for reading. Places of tensors count from the end of the header.
class SafetensorsFile final : public TensorFile {
  public:
    /// Reads the header. Errors: InputError (no file, not this format), IoError.
    explicit SafetensorsFile(const std::filesystem::path& path);

    const SafetensorsHeader& header() const { return header_; }
    const std::vector<StoredTensor>& tensors() const override { return header_.tensors; }

  private:
    void read_bytes(const StoredTensor& tensor, std::uint64_t offset,
                    std::span<std::byte> out) const override;

    const platform::DurableFile file_;
    std::uint64_t data_offset_ = 0;
    SafetensorsHeader header_;
};

}  // namespace dedloc::huggingface
