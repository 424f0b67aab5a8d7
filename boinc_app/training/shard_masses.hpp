// Weighted shards as one list of things to draw from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dedloc::training {

/// A thing of a shard.
struct ShardPlace {
    std::size_t shard = 0;    ///< index of the shard
    std::uint64_t index = 0;  ///< index of the thing within it
};

/// The running sums of weight × number of things over shards. Cost of a look-up: a binary search.
class ShardMasses {
  public:
    /// Adds the next shard; it may have nothing to draw.
    void add(std::uint64_t weight, std::uint64_t count) {
        ends_.push_back(total() + weight * count);
        weights_.push_back(weight);
    }
    /// The sum over all shards: how many numbers may be drawn.
    std::uint64_t total() const { return ends_.empty() ? 0 : ends_.back(); }
    /// The thing that a drawn number stands for. Requires number < total().
    ShardPlace place_of(std::uint64_t number) const {
        const auto end = std::ranges::upper_bound(ends_, number);
        const auto shard = static_cast<std::size_t>(end - ends_.begin());
        const std::uint64_t begin = shard == 0 ? 0 : ends_[shard - 1];
        return {.shard = shard, .index = (number - begin) / weights_[shard]};
    }

  private:
    std::vector<std::uint64_t> ends_;
    std::vector<std::uint64_t> weights_;
};

}  // namespace dedloc::training
