// Bounded byte helpers: nothing here reads or writes past an end, whatever the input says.
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

static_assert(std::endian::native == std::endian::little,
              "values are written as they lie in memory");

using Buffer = std::vector<std::byte>;
/// Bytes that several owners may hold and none may change: one encoded message sent to many links.
using SharedBytes = std::shared_ptr<const Buffer>;
using FloatVector = std::vector<float>;
/// One full gradient or average, handed between threads without a copy. Shared because donors and
/// the trainer hold it.
using SharedFloats = std::shared_ptr<const FloatVector>;

/// Two lower-case digits a byte.
std::string to_hex(std::span<const std::byte> bytes);
/// Exactly out.size() bytes from 2 × out.size() hex digits of either case; false if anything else
/// is given.
[[nodiscard]] bool from_hex(std::string_view text, std::span<std::byte> out);

/// Reads little-endian values one after the other; after the first short read everything reads as
/// absent.
class ByteReader {
  public:
    explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

    template <class T>
    std::optional<T> read() {
        static_assert(std::is_trivially_copyable_v<T>);
        static_assert(!std::is_same_v<T, bool>, "a bool has bytes that are neither true nor false");
        const auto bytes = take(sizeof(T));
        if (!bytes) return std::nullopt;
        T value;
        std::memcpy(&value, bytes->data(), sizeof(T));
        return value;
    }
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
    std::size_t remaining() const { return rest_.size(); }

  private:
    std::span<const std::byte> rest_;
    bool failed_ = false;
};

/// Appends values as ByteReader reads them.
class ByteWriter {
  public:
    template <class T>
    void write(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        append(std::as_bytes(std::span{&value, 1}));
    }
    void append(std::span<const std::byte> bytes) {
        if (bytes.empty()) return;
        const std::size_t size = bytes_.size();
        bytes_.resize(size + bytes.size());
        std::memcpy(bytes_.data() + size, bytes.data(), bytes.size());
    }
    Buffer finish() && { return std::move(bytes_); }

  private:
    Buffer bytes_;
};

inline std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span{text});
}

}  // namespace dedloc
