// A file with named tensors, whatever its format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dedloc::huggingface {

/// One tensor of a file.
struct StoredTensor {
    std::string name;                  ///< unique in the file
    std::string type;                  ///< "F32", "BF16", "I64", …
    std::vector<std::uint64_t> shape;  ///< extents; empty: one element
    std::uint64_t begin = 0;           ///< first byte; from where depends on the format
    std::uint64_t end = 0;             ///< the byte after the last one
    /// Number of elements.
    std::uint64_t count() const;
    bool operator==(const StoredTensor&) const = default;
};

/// An untrusted file, open for reading. Thread: one at a time.
class TensorFile {
  public:
    explicit TensorFile(std::string name) : name_(std::move(name)) {}
    virtual ~TensorFile() = default;
    TensorFile(const TensorFile&) = delete;
    TensorFile& operator=(const TensorFile&) = delete;

    /// Its tensors.
    virtual const std::vector<StoredTensor>& tensors() const = 0;
    /// The file's name, for messages.
    const std::string& name() const { return name_; }
    /// The tensor of this name; null if the file has none.
    const StoredTensor* find(std::string_view name) const;

    /// Reads a tensor of type F32, F16 or BF16 as fp32; every value converts exactly.
    /// Requires as many elements as the tensor has (aborts).
    /// Errors   InputError: another type, or a value that is not finite
    void read(const StoredTensor& tensor, std::span<float> out) const;

  protected:
    /// Reads a part of a tensor's bytes, from `offset` within the tensor.
    virtual void read_bytes(const StoredTensor& tensor, std::uint64_t offset,
                            std::span<std::byte> out) const = 0;

  private:
    const std::string name_;
};

/// Bytes of one element of this type; 0 for an unknown type.
std::uint64_t bytes_of_type(std::string_view type);

}  // namespace dedloc::huggingface
