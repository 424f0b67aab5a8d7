#include "boinc_app/training/shard_masses.hpp"

#include <algorithm>

#include "peer/base/check.hpp"

namespace dedloc::training {

ShardMasses::ShardMasses(std::span<const formats::SourceSpec> sources)
    : sources_(std::max<std::size_t>(1, sources.size())) {
    for (const formats::SourceSpec& source : sources) weights_.push_back(source.weight);
}

void ShardMasses::add(std::uint64_t weight, std::uint64_t count, std::uint32_t source) {
    DEDLOC_CHECK(source < sources_.size(), "a shard is of a source of the run", source);
    Source& of = sources_[source];
    if (weight * count > 0) present_.set(source);
    of.ends.push_back(of.total() + weight * count);
    of.weights.push_back(weight);
    of.shards.push_back(shards_++);
}

bool ShardMasses::is_empty() const {
    return present_.none();
}

ShardPlace ShardMasses::draw(Random& random, std::span<const std::uint64_t> weights) const {
    if (weights.empty()) weights = weights_;
    DEDLOC_CHECK(weights.size() <= weights_.size(), "a weight is a source's", weights.size());
    DEDLOC_CHECK(!is_empty(), "there is something to draw");
    const std::size_t drawn =
        weights_.empty() ? 0 : formats::draw_source(random, weights, present_);
    const Source& source = sources_[drawn];
    const std::uint64_t number = random.below(source.total());
    const auto end = std::ranges::upper_bound(source.ends, number);
    const auto at = static_cast<std::size_t>(end - source.ends.begin());
    const std::uint64_t begin = at == 0 ? 0 : source.ends[at - 1];
    return {.shard = source.shards[at], .index = (number - begin) / source.weights[at]};
}

}  // namespace dedloc::training
