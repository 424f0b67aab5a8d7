// An encoded message on its way out. Most of a large one may lie elsewhere, in the gradient or the
// average that it carries a piece of: it is written to the link from there, not copied.
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

/// Immutable, and cheap to copy: many links may be given the same one.
class Frame {
  public:
    static constexpr std::size_t kMaxPieces = 3;
    using Pieces = std::array<std::span<const std::byte>, kMaxPieces>;

    Frame() = default;  ///< no frame, which is different from an empty one
    Frame(SharedBytes bytes) : around_(std::move(bytes)), bulk_at_(around_ ? around_->size() : 0) {}
    /// `bulk` comes after the first `bulk_at` bytes of `around`; its numbers must stay as they are.
    /// Requires bulk_at ≤ size of `around`.
    Frame(SharedBytes around, std::size_t bulk_at, SharedSlice<std::byte> bulk)
        : around_(std::move(around)), bulk_at_(bulk_at), bulk_(std::move(bulk)) {
        DEDLOC_CHECK(bulk_at_ <= around_->size(), "the bulk lies within its frame", bulk_at_);
    }

    explicit operator bool() const { return around_ != nullptr; }
    std::size_t size() const { return around_ ? around_->size() + bulk_.size() : 0; }
    bool has_bulk() const { return !bulk_.empty(); }
    /// All bytes in their order; pieces may be empty.
    Pieces pieces() const {
        if (!around_) return {};
        const std::span<const std::byte> around{*around_};
        return {around.first(bulk_at_), bulk_.values(), around.subspan(bulk_at_)};
    }
    /// All bytes in one place; null for no frame. Cost: a copy, if there is bulk.
    SharedBytes whole() const;

  private:
    SharedBytes around_;
    std::size_t bulk_at_ = 0;
    SharedSlice<std::byte> bulk_;
};

}  // namespace dedloc
