// Numbers that nobody changes any more, wherever they lie: a part of a gradient or of an average,
// or the elements of a frame that has arrived. They are kept alive by whoever owns them, so that a
// chunk is not copied on its way from the network to the sum.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace dedloc {

template <class Number>
class SharedSlice {
  public:
    SharedSlice() = default;
    /// Owns its numbers.
    SharedSlice(std::vector<Number> values)
        : SharedSlice(std::make_shared<const std::vector<Number>>(std::move(values))) {}
    explicit SharedSlice(std::shared_ptr<const std::vector<Number>> all)
        : values_(*all), owner_(std::move(all)) {}
    /// As long as the slice lives, `owner` is held, and `values` must stay as they are.
    SharedSlice(std::shared_ptr<const void> owner, std::span<const Number> values)
        : values_(values), owner_(std::move(owner)) {}

    std::span<const Number> values() const { return values_; }
    std::size_t size() const { return values_.size(); }
    bool empty() const { return values_.empty(); }
    /// The same numbers as bytes.
    SharedSlice<std::byte> bytes() const { return {owner_, std::as_bytes(values_)}; }
    std::vector<Number> copy() const { return {values_.begin(), values_.end()}; }

    /// By their numbers, wherever they lie; NaN is different from itself.
    friend bool operator==(const SharedSlice& a, const SharedSlice& b) {
        return std::ranges::equal(a.values_, b.values_);
    }

  private:
    std::span<const Number> values_;
    std::shared_ptr<const void> owner_;
};

}  // namespace dedloc
