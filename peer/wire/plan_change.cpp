// applied() renumbers what remains of the base and puts the new ranges in. change_of() compares the
// renumbered base with the new plan and returns a change only if applied() makes the new plan of
// it, so a case that a change cannot describe costs bytes and nothing else.
#include "peer/wire/plan_change.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "peer/wire/message_codec.hpp"

namespace dedloc::wire {
namespace {

constexpr std::uint32_t kRemoved = std::numeric_limits<std::uint32_t>::max();

/// The index of each member of the base once `removed` (ascending) are left out; kRemoved: it is.
std::vector<std::uint32_t> new_indices(std::size_t members,
                                       const std::vector<std::uint32_t>& removed) {
    std::vector<std::uint32_t> indices;
    indices.reserve(members);
    std::uint32_t next = 0;
    auto gone = removed.begin();
    for (std::uint32_t k = 0; k < members; ++k) {
        const bool is_gone = gone != removed.end() && *gone == k;
        if (is_gone) ++gone;
        indices.push_back(is_gone ? kRemoved : next++);
    }
    return indices;
}

/// The ranges of members that remain, with their new indices.
std::vector<ChunkRange> renumbered(const std::vector<ChunkRange>& ranges,
                                   const std::vector<std::uint32_t>& indices) {
    std::vector<ChunkRange> remaining;
    for (ChunkRange range : ranges) {
        const std::uint32_t index = indices[range.member.value()];
        if (index == kRemoved) continue;
        range.member = PeerIndex{index};
        remaining.push_back(range);
    }
    return remaining;
}

/// The endpoints of the base's reducers that reduce in the new plan, with their new indices.
std::vector<ReducerEndpoint> kept_endpoints(const Plan& base,
                                            const std::vector<std::uint32_t>& indices,
                                            const std::vector<ChunkRange>& ranges) {
    std::set<std::uint32_t> reducing;
    for (const ChunkRange& range : ranges) reducing.insert(range.member.value());
    std::vector<ReducerEndpoint> kept;
    for (const ReducerEndpoint& reducer : base.reducers) {
        const std::uint32_t index = indices[reducer.member.value()];
        if (index == kRemoved || !reducing.contains(index)) continue;
        kept.push_back({.member = PeerIndex{index}, .endpoint = reducer.endpoint});
    }
    return kept;
}

bool begins_before(const ChunkRange& a, const ChunkRange& b) {
    return a.first_chunk < b.first_chunk;
}

/// `changed` and those of `ranges` that overlap none of them. Both ascend.
std::vector<ChunkRange> merged(const std::vector<ChunkRange>& ranges,
                               const std::vector<ChunkRange>& changed) {
    std::vector<ChunkRange> all = changed;
    for (const ChunkRange& range : ranges) {
        const auto after = std::ranges::find_if(
            changed, [&](const ChunkRange& c) { return c.last_chunk > range.first_chunk; });
        if (after == changed.end() || after->first_chunk >= range.last_chunk) all.push_back(range);
    }
    std::ranges::sort(all, begins_before);
    return all;
}

}  // namespace

Digest digest_of(const Plan& plan) {
    return blake2b(pack(plan));
}

std::optional<PlanChange> change_of(const Plan& base, const Plan& next) {
    PlanChange change{.term = next.term,
                      .attempt = next.attempt,
                      .base = base.attempt,
                      .removed = {},
                      .ranges = {},
                      .reducers = {},
                      .relays = next.relays,
                      .digest = digest_of(next)};
    for (std::uint32_t k = 0; k < base.members.size(); ++k) {
        if (index_of(next, base.members[k].peer) == next.members.size())
            change.removed.push_back(k);
    }
    const auto indices = new_indices(base.members.size(), change.removed);
    const auto former = renumbered(base.ranges, indices);
    for (const ChunkRange& range : next.ranges) {
        const auto same = std::ranges::lower_bound(former, range, begins_before);
        if (same == former.end() || *same != range) change.ranges.push_back(range);
    }
    const auto kept = kept_endpoints(base, indices, next.ranges);
    for (const ReducerEndpoint& reducer : next.reducers) {
        if (std::ranges::find(kept, reducer) == kept.end()) change.reducers.push_back(reducer);
    }
    if (applied(base, change) != next) return {};
    return change;
}

std::optional<Plan> applied(const Plan& base, const PlanChange& change) {
    const bool is_ours = base.term == change.term && base.attempt == change.base;
    if (!is_ours) return {};
    if (!change.removed.empty() && change.removed.back() >= base.members.size()) return {};
    const auto indices = new_indices(base.members.size(), change.removed);
    Plan plan = base;
    plan.attempt = change.attempt;
    plan.members.clear();
    for (std::size_t k = 0; k < base.members.size(); ++k) {
        if (indices[k] != kRemoved) plan.members.push_back(base.members[k]);
    }
    plan.ranges = merged(renumbered(base.ranges, indices), change.ranges);
    plan.reducers = kept_endpoints(base, indices, plan.ranges);
    plan.reducers.insert(plan.reducers.end(), change.reducers.begin(), change.reducers.end());
    std::ranges::stable_sort(plan.reducers, {}, &ReducerEndpoint::member);
    plan.relays = change.relays;
    if (!is_within_bounds(plan) || digest_of(plan) != change.digest) return {};
    return plan;
}

}  // namespace dedloc::wire
