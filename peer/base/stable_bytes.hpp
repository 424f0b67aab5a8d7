// Bytes that stay as they are while they are held, wherever they come from: a buffer of their own,
// or memory whose owner keeps what is about to be overwritten (platform/copy_on_write.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "peer/base/bytes.hpp"
#include "peer/base/check.hpp"

namespace dedloc {

/// An array of constant content that is read in pieces. Thread: any, also several at once.
class StableBytes {
  public:
    virtual ~StableBytes() = default;
    /// Number of bytes.
    virtual std::uint64_t size() const = 0;
    /// Copies the bytes from `first` on. Requires first + into.size() ≤ size() (aborts).
    virtual void read(std::uint64_t first, std::span<std::byte> into) const = 0;
};
/// Shared among threads: a trainer gives it, a peer and a writer of files read it.
using SharedStableBytes = std::shared_ptr<const StableBytes>;

/// A buffer as StableBytes.
class BufferedBytes final : public StableBytes {
  public:
    explicit BufferedBytes(SharedBytes bytes) : bytes_(std::move(bytes)) {}
    std::uint64_t size() const override { return bytes_->size(); }
    void read(std::uint64_t first, std::span<std::byte> into) const override {
        DEDLOC_CHECK(first <= bytes_->size() && into.size() <= bytes_->size() - first,
                     "a piece lies within the bytes", first, into.size());
        std::memcpy(into.data(), bytes_->data() + first, into.size());
    }

  private:
    const SharedBytes bytes_;
};

/// These bytes, without a copy.
inline SharedStableBytes stable_bytes(SharedBytes bytes) {
    return std::make_shared<const BufferedBytes>(std::move(bytes));
}

}  // namespace dedloc
