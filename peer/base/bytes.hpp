// Byte buffers, and reading and writing with bounds checks: no input makes these helpers read or
// write past an end.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace dedloc {

// ByteReader and ByteWriter copy values as they are in memory.
static_assert(std::endian::native == std::endian::little,
              "the wire is little-endian and values are copied unchanged");

/// Bytes with one owner.
using Buffer = std::vector<std::byte>;
/// Immutable bytes with several owners, for example one encoded message that many links send.
using SharedBytes = std::shared_ptr<const Buffer>;
/// A vector of the model's size.
using FloatVector = std::vector<float>;
/// An immutable gradient or average, handed between threads without a copy. Trainer, reduction and
/// donors share it.
using SharedFloats = std::shared_ptr<const FloatVector>;

/// Two lower-case digits per byte.
std::string to_hex(std::span<const std::byte> bytes);
/// Fills `out` from exactly 2 × out.size() hex digits of either case. False for any other text;
/// `out` is then unspecified.
[[nodiscard]] bool from_hex(std::string_view text, std::span<std::byte> out);
/// Base64 of RFC 4648 with padding, on one line.
std::string to_base64(std::span<const std::byte> bytes);
/// The bytes of such a text; nothing if it has any other character.
std::optional<std::string> from_base64(std::string_view text);

/// Reads little-endian values one after the other. After the first read past the end every read
/// returns nothing.
class ByteReader {
  public:
    explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

    /// The next sizeof(T) bytes as a value; nothing if fewer remain.
    template <class T>
    std::optional<T> read() {
        static_assert(std::is_trivially_copyable_v<T>);
        static_assert(!std::is_same_v<T, bool>, "some byte values are no valid bool");
        const auto bytes = take(sizeof(T));
        if (!bytes) return std::nullopt;
        T value;
        std::memcpy(&value, bytes->data(), sizeof(T));
        return value;
    }
    /// The next `count` bytes, which stay in the input; nothing if fewer remain.
    std::optional<std::span<const std::byte>> take(std::size_t count) {
        if (failed_ || count > rest_.size()) {
            rest_ = {};
            failed_ = true;
            return std::nullopt;
        }
        const auto head = rest_.first(count);
        rest_ = rest_.subspan(count);
        return head;
    }
    /// Bytes not read yet; 0 after a failed read.
    std::size_t remaining() const { return rest_.size(); }

  private:
    std::span<const std::byte> rest_;
    bool failed_ = false;
};

/// Appends values in the format that ByteReader reads.
class ByteWriter {
  public:
    /// Appends the bytes of a value.
    template <class T>
    void write(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        append(std::as_bytes(std::span{&value, 1}));
    }
    /// Appends bytes.
    void append(std::span<const std::byte> bytes) {
        if (bytes.empty()) return;
        const std::size_t size = bytes_.size();
        bytes_.resize(size + bytes.size());
        std::memcpy(bytes_.data() + size, bytes.data(), bytes.size());
    }
    /// All bytes written. Ends the writer.
    Buffer finish() && { return std::move(bytes_); }

  private:
    Buffer bytes_;
};

/// The characters of a text as bytes, without a terminator.
inline std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span{text});
}

}  // namespace dedloc
