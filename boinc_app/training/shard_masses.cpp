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
    of.ends.push_back(of.total() + weight * count);
    of.weights.push_back(weight);
    of.shards.push_back(shards_++);
}

bool ShardMasses::is_empty() const {
    return std::ranges::all_of(sources_, [](const Source& source) { return source.total() == 0; });
}

const ShardMasses::Source& ShardMasses::draw_source(Random& random,
                                                    std::span<const std::uint64_t> weights) const {
    const auto sum_of = [&](const auto& weight_of) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < sources_.size(); ++i) {
            if (sources_[i].total() > 0) sum += weight_of(i);
        }
        return sum;
    };
    const auto given = [&](std::size_t i) { return weights[i]; };
    const bool is_used = sum_of(given) > 0;
    const auto weight_of = [&](std::size_t i) { return is_used ? weights[i] : 1; };
    std::uint64_t drawn = random.below(sum_of(weight_of));
    for (std::size_t i = 0; i < sources_.size(); ++i) {
        if (sources_[i].total() == 0) continue;
        if (drawn < weight_of(i)) return sources_[i];
        drawn -= weight_of(i);
    }
    DEDLOC_CHECK(false, "a number below the sum of weights is a source's");
    return sources_.front();
}

ShardPlace ShardMasses::draw(Random& random, std::span<const std::uint64_t> weights) const {
    if (weights.empty()) weights = weights_;
    DEDLOC_CHECK(weights.size() == weights_.size(), "each source has a weight", weights.size());
    DEDLOC_CHECK(!is_empty(), "there is something to draw");
    const Source& source = weights_.empty() ? sources_.front() : draw_source(random, weights);
    const std::uint64_t number = random.below(source.total());
    const auto end = std::ranges::upper_bound(source.ends, number);
    const auto at = static_cast<std::size_t>(end - source.ends.begin());
    const std::uint64_t begin = at == 0 ? 0 : source.ends[at - 1];
    return {.shard = source.shards[at], .index = (number - begin) / source.weights[at]};
}

}  // namespace dedloc::training
