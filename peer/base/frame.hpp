// An encoded outbound message. The bulk of a large one (a piece of a gradient or an average) is not
// copied into it: the frame refers to the vector and is written to the link from there.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "peer/base/bytes.hpp"
#include "peer/base/check.hpp"
#include "peer/base/shared_slice.hpp"

namespace dedloc {

/// Immutable and cheap to copy: many links may send the same frame.
class Frame {
  public:
    /// A frame is written as three pieces: bytes before the bulk, the bulk, bytes after it.
    static constexpr std::size_t kMaxPieces = 3;
    using Pieces = std::array<std::span<const std::byte>, kMaxPieces>;

    Frame() = default;  ///< no frame: different from an empty one
    Frame(SharedBytes bytes) : around_(std::move(bytes)), bulk_at_(around_ ? around_->size() : 0) {}
    /// The bytes of `around` with `bulk` inserted after the first `bulk_at` of them. Nothing may
    /// change the numbers of `bulk` any more. Requires bulk_at ≤ size of `around` (DEDLOC_CHECK).
    Frame(SharedBytes around, std::size_t bulk_at, SharedSlice<std::byte> bulk)
        : around_(std::move(around)), bulk_at_(bulk_at), bulk_(std::move(bulk)) {
        DEDLOC_CHECK(bulk_at_ <= around_->size(), "the bulk lies within its frame", bulk_at_);
    }

    /// False: no frame.
    explicit operator bool() const { return around_ != nullptr; }
    /// Bytes of all pieces together.
    std::size_t size() const { return around_ ? around_->size() + bulk_.size() : 0; }
    /// Whether a part of the frame is shared with a vector.
    bool has_bulk() const { return !bulk_.empty(); }
    /// All bytes in order; a piece may be empty.
    Pieces pieces() const {
        if (!around_) return {};
        const std::span<const std::byte> around{*around_};
        return {around.first(bulk_at_), bulk_.values(), around.subspan(bulk_at_)};
    }
    /// All bytes in one buffer; null for no frame. Cost: a copy if the frame has bulk.
    SharedBytes whole() const;

  private:
    SharedBytes around_;
    std::size_t bulk_at_ = 0;
    SharedSlice<std::byte> bulk_;
};

}  // namespace dedloc
