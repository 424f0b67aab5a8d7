// reassign(): the planner's search over time with two changes. A remaining reducer's lower bound is
// the chunks that it has already, even beyond its capacity, so no chunk moves without need; and
// lost members count as not reachable. handed_out() then walks over the old ranges and cuts the
// lost ones into pieces for the takers, in member order.
#include <algorithm>

#include "peer/base/check.hpp"
#include "peer/planning/capacity.hpp"
#include "peer/planning/planner.hpp"

namespace dedloc::planning {
namespace {

/// Appends a range; joins it to the last one if the member is the same.
void append(std::vector<ChunkRange>& ranges, const ChunkRange& range) {
    if (!ranges.empty() && ranges.back().member == range.member &&
        ranges.back().last_chunk == range.first_chunk) {
        ranges.back().last_chunk = range.last_chunk;
        return;
    }
    ranges.push_back(range);
}

/// Chunks that each member keeps. Members that are lost keep none.
std::vector<std::uint64_t> kept_chunks(std::span<const ChunkRange> ranges,
                                       const std::vector<bool>& is_lost) {
    std::vector<std::uint64_t> kept(is_lost.size());
    for (const ChunkRange& range : ranges) {
        const std::uint32_t member = range.member.value();
        DEDLOC_CHECK(member < kept.size(), "a range belongs to a member", member);
        if (!is_lost[member]) kept[member] += range.last_chunk - range.first_chunk;
    }
    return kept;
}

/// Bounds of all reducers at this time: at least the chunks that each keeps.
std::optional<Selection> selection_at(const Capacities& capacities, Ticks time,
                                      std::span<const std::uint64_t> kept, std::uint32_t chunks,
                                      std::uint32_t reducers) {
    auto bounds = capacities.bounds_at(time, chunks);
    if (!bounds) return std::nullopt;
    for (std::size_t k = 0; k < kept.size(); ++k) {
        (*bounds)[k] = {.min = kept[k], .max = std::max(kept[k], (*bounds)[k].max)};
    }
    return select_reducers(*bounds, chunks, reducers);
}

/// `ranges` with the chunks of lost members given to the others, `extra[k]` chunks to member k.
std::vector<ChunkRange> handed_out(std::span<const ChunkRange> ranges,
                                   const std::vector<bool>& is_lost,
                                   std::vector<std::uint64_t> extra) {
    std::vector<ChunkRange> result;
    std::uint32_t taker = 0;
    for (const ChunkRange& range : ranges) {
        if (!is_lost[range.member.value()]) {
            append(result, range);
            continue;
        }
        for (std::uint32_t next = range.first_chunk; next < range.last_chunk;) {
            while (extra[taker] == 0) ++taker;
            const auto taken = static_cast<std::uint32_t>(
                std::min<std::uint64_t>(extra[taker], range.last_chunk - next));
            append(result, {PeerIndex{taker}, next, next + taken});
            extra[taker] -= taken;
            next += taken;
        }
    }
    return result;
}

}  // namespace

Result<std::vector<ChunkRange>, PlanFailure> reassign(const PlanRequest& request,
                                                      std::span<const ChunkRange> ranges,
                                                      std::span<const PeerIndex> lost) {
    std::vector<bool> is_lost(request.members.size());
    PlanRequest living = request;
    for (const PeerIndex member : lost) {
        DEDLOC_CHECK(member.value() < is_lost.size(), "a lost peer is a member", member.value());
        is_lost[member.value()] = true;
        living.members[member.value()].is_reachable = false;
    }
    const Capacities capacities{living};
    if (capacities.is_empty()) return Failure{PlanFailure::kNoReducer};
    const std::uint32_t chunks = size_of(request).chunks;
    const std::vector<std::uint64_t> kept = kept_chunks(ranges, is_lost);
    const auto keepers = std::count_if(kept.begin(), kept.end(), [](auto n) { return n > 0; });
    const std::uint32_t reducers =
        std::max(request.max_reducers, static_cast<std::uint32_t>(keepers));
    const Ticks time = first_time(capacities.earliest(), [&](Ticks at) {
        return selection_at(capacities, at, kept, chunks, reducers).has_value();
    });
    const auto selection = selection_at(capacities, time, kept, chunks, reducers);
    DEDLOC_CHECK(selection.has_value(), "a reachable member can average everything in time", time);
    const std::vector<std::uint64_t> shares = share_out(*selection, chunks);
    std::vector<std::uint64_t> extra(kept.size());
    for (std::size_t k = 0; k < shares.size(); ++k) {
        const std::uint32_t member = selection->members[k];
        extra[member] = shares[k] - kept[member];
    }
    auto amended = handed_out(ranges, is_lost, std::move(extra));
    if (amended.size() > wire::kMaxRanges) return Failure{PlanFailure::kTooManyRanges};
    return amended;
}

}  // namespace dedloc::planning
