// Job j takes the next shards_per_job shards after those of job j − 1, and begins again after the
// last shard; in a run with sources so do the shards of each source.
#include "peer/formats/job_shards.hpp"

#include <algorithm>
#include <iterator>

namespace dedloc::formats {
namespace {

std::vector<ShardReference> chosen(const RunFile& run, bool is_held_out) {
    std::vector<ShardReference> shards;
    std::ranges::copy_if(
        run.shards, std::back_inserter(shards),
        [is_held_out](const ShardReference& shard) { return shard.is_held_out == is_held_out; });
    return shards;
}

/// Appends the `count` shards of `all` whose turn it is in this job. Requires 1 ≤ count ≤ their
/// number, unless there is none.
void append_turn(const std::vector<ShardReference>& all, std::size_t count, std::uint64_t job,
                 std::vector<ShardReference>& shards) {
    for (std::size_t i = 0; i < count && !all.empty(); ++i) {
        shards.push_back(all[(job % all.size() * count + i) % all.size()]);
    }
}

}  // namespace

std::vector<ShardReference> training_shards(const RunFile& run) {
    return chosen(run, false);
}

std::vector<ShardReference> held_out_shards(const RunFile& run) {
    return chosen(run, true);
}

std::size_t shards_per_job(const RunFile& run) {
    return run.shards_per_job != 0 ? run.shards_per_job : training_shards(run).size();
}

std::vector<ShardReference> shards_of_job(const RunFile& run, std::uint64_t job) {
    const auto all = training_shards(run);
    const std::size_t count = shards_per_job(run);
    std::vector<ShardReference> shards;
    if (run.sources.empty()) {
        append_turn(all, count, job, shards);
        return shards;
    }
    for (std::uint32_t source = 0; source < run.sources.size(); ++source) {
        std::vector<ShardReference> of_source;
        std::ranges::copy_if(
            all, std::back_inserter(of_source),
            [source](const ShardReference& shard) { return shard.source == source; });
        // Rounded to the nearest.
        const std::size_t share = (2 * count * of_source.size() + all.size()) / (2 * all.size());
        append_turn(of_source, std::max<std::size_t>(1, share), job, shards);
    }
    return shards;
}

}  // namespace dedloc::formats
