// The bandwidth planner: which member averages which chunks, so that the round's transfers end as
// early as the links allow. README.md has the model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "peer/base/result.hpp"
#include "peer/base/units.hpp"
#include "peer/planning/request.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::planning {

using wire::ChunkRange;

/// Why there is no plan.
enum class PlanFailure : std::uint8_t {
    kNoReducer,      ///< no remaining member can be dialled
    kTooManyRanges,  ///< too many reducers were lost: make a new plan
};

/// Whether a member's own link limits the time of a plan.
enum class Limit : std::uint8_t {
    kNone,      ///< the member could take another chunk without making the round longer
    kUpload,    ///< its upload limits the round
    kDownload,  ///< its download limits the round
};

/// The load of one member in a plan.
struct MemberLoad {
    LinkSpeed link;              ///< bandwidths that were planned with
    std::uint32_t chunks = 0;    ///< chunks that it averages
    Bytes sent{};                ///< contribution and averages that it sends
    Bytes received{};            ///< contributions and average that it receives
    Duration sending{0};         ///< time of `sent` on its upload
    Duration receiving{0};       ///< time of `received` on its download
    Limit limit = Limit::kNone;  ///< whether this member limits the round
    bool operator==(const MemberLoad&) const = default;
};

/// The costs of a plan.
struct Forecast {
    std::vector<MemberLoad> loads;  ///< in member order
    Duration transfer{0};           ///< transfer time of the slowest member
    Duration round{0};              ///< `transfer` and two latencies; 0 if nothing is sent
    bool operator==(const Forecast&) const = default;
};

/// A plan in whole chunks.
struct SharePlan {
    std::vector<ChunkRange> ranges;  ///< ascending; all chunks, without gaps
    Duration optimum{0};             ///< T*: the shortest transfer of any shares
    Forecast forecast;               ///< costs of `ranges`
    bool operator==(const SharePlan&) const = default;
};

/// The plan with the shortest transfer.
///
/// Exact     `optimum` is the optimum of README.md's linear program, rounded up to nanoseconds. No
///           other plan in whole chunks (with the last one counted as long as the others) is
///           shorter than `ranges`. With a latency, reducers whose part would take less than the
///           latency are left out while that makes the plan at most one latency longer.
/// Order     shares are in member order; ties go to the earlier member
/// Bits      integers only: the same on every machine
/// Requires  what size_of requires, at most wire::kMaxMembers members, max_reducers ≥ 1
///           (DEDLOC_CHECK)
/// Errors    kNoReducer
/// Cost      O(n) for each of some 60 times tried; measured: tests/bench/planner_bench.cpp
/// Source    DeDLOC, the optimisation problem for fixed contributors; departures: README.md
Result<SharePlan, PlanFailure> plan_shares(const PlanRequest& request);

/// Gives the chunks of the `lost` reducers to the others; all other chunks stay where they are. The
/// amended round is as short as that allows.
///
/// Requires  `request` describes the round from now on: same members in the same order, `lost`
///           among them; `ranges` cover its chunks (DEDLOC_CHECK)
/// Errors    kNoReducer, kTooManyRanges
Result<std::vector<ChunkRange>, PlanFailure> reassign(const PlanRequest& request,
                                                      std::span<const ChunkRange> ranges,
                                                      std::span<const PeerIndex> lost);

/// The costs of any ranges, counted in bytes of chunks.
/// Requires  what plan_shares requires; `ranges` cover the chunks once (DEDLOC_CHECK)
Forecast forecast(const PlanRequest& request, std::span<const ChunkRange> ranges);

}  // namespace dedloc::planning
