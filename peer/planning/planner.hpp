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

enum class PlanFailure : std::uint8_t {
    kNoReducer,      ///< nobody who is left can be dialled
    kTooManyRanges,  ///< too many reducers were lost: make a plan anew
};

/// What a member's own link says about the time of a plan.
enum class Limit : std::uint8_t {
    kNone,      ///< it could take another chunk without making the round longer
    kUpload,    ///< its upload is what takes so long
    kDownload,  ///< its download is
};

/// What one member moves in a plan.
struct MemberLoad {
    LinkSpeed link;            ///< bytes per second, as planned with
    std::uint32_t chunks = 0;  ///< that it averages
    Bytes sent{};
    Bytes received{};
    Duration sending{0};
    Duration receiving{0};
    Limit limit = Limit::kNone;
    bool operator==(const MemberLoad&) const = default;
};

/// What a plan costs.
struct Forecast {
    std::vector<MemberLoad> loads;  ///< in member order
    Duration transfer{0};           ///< of the member that takes longest
    Duration round{0};              ///< with a latency for either way, if anything is sent at all
    bool operator==(const Forecast&) const = default;
};

struct SharePlan {
    std::vector<ChunkRange> ranges;  ///< ascending, without gaps, of all chunks
    Duration optimum{0};             ///< T*: no shares at all, in chunks or not, transfer faster
    Forecast forecast;               ///< of `ranges`
    bool operator==(const SharePlan&) const = default;
};

/// The plan with the shortest transfer.
///
/// Exact     `optimum` is the optimum of the linear program of README.md, rounded up to
///           nanoseconds; of all plans in whole chunks (the last one counted as long as the others)
///           `ranges` is as short as any. With a latency: without reducers whose part would
///           take less than it, as far as that makes the plan at most a latency longer.
/// Order     shares are in member order; ties go to the earlier member
/// Bits      integers only: the same on every machine
/// Requires  what size_of requires, at most wire::kMaxMembers members, max_reducers ≥ 1
///           (DEDLOC_CHECK)
/// Errors    kNoReducer
/// Cost      O(n) a tried time, some 60 of them; measured: tests/bench/planner_bench.cpp
/// Source    DeDLOC, the optimisation problem for fixed contributors; departures: README.md
Result<SharePlan, PlanFailure> plan_shares(const PlanRequest& request);

/// Gives the chunks of members that are gone to the others; all other chunks stay where they are.
/// The amended round is as short as that allows.
///
/// Requires  `request` is that of the round as it goes on: same members in the same order, `lost`
///           among them; `ranges` cover its chunks (DEDLOC_CHECK)
/// Errors    kNoReducer, kTooManyRanges
Result<std::vector<ChunkRange>, PlanFailure> reassign(const PlanRequest& request,
                                                      std::span<const ChunkRange> ranges,
                                                      std::span<const PeerIndex> lost);

/// What any ranges cost, counted in bytes of whole chunks.
/// Requires  what plan_shares requires; `ranges` cover the chunks once (DEDLOC_CHECK)
Forecast forecast(const PlanRequest& request, std::span<const ChunkRange> ranges);

}  // namespace dedloc::planning
