// A slice of immutable numbers together with shared ownership of their storage: a part of a
// gradient or an average, or the elements in a frame that has arrived. Because the slice keeps the
// storage alive, a chunk is not copied on its way from the network to the sum.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace dedloc {

/// Cheap to copy. Nothing may change the numbers while a slice refers to them.
template <class Number>
class SharedSlice {
  public:
    SharedSlice() = default;
    /// All of `values`, which the slice then owns.
    SharedSlice(std::vector<Number> values)
        : SharedSlice(std::make_shared<const std::vector<Number>>(std::move(values))) {}
    /// All of a shared vector.
    explicit SharedSlice(std::shared_ptr<const std::vector<Number>> all)
        : values_(*all), owner_(std::move(all)) {}
    /// `values`, whose storage `owner` keeps alive.
    SharedSlice(std::shared_ptr<const void> owner, std::span<const Number> values)
        : values_(values), owner_(std::move(owner)) {}

    /// The numbers, valid as long as the slice or a copy of it exists.
    std::span<const Number> values() const { return values_; }
    std::size_t size() const { return values_.size(); }
    bool empty() const { return values_.empty(); }
    /// The same numbers as bytes.
    SharedSlice<std::byte> bytes() const { return {owner_, std::as_bytes(values_)}; }
    /// The numbers in a vector of their own.
    std::vector<Number> copy() const { return {values_.begin(), values_.end()}; }

    /// Compares the numbers, not where they are stored; NaN differs from itself.
    friend bool operator==(const SharedSlice& a, const SharedSlice& b) {
        return std::ranges::equal(a.values_, b.values_);
    }

  private:
    std::span<const Number> values_;
    std::shared_ptr<const void> owner_;
};

}  // namespace dedloc
