// The solver behind the planner: how much of the vector each member can average within a given
// time. The shortest round is the earliest time at which these capacities add up to the whole
// vector.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "peer/planning/request.hpp"

namespace dedloc::planning {

/// Products of two 64-bit numbers.
__extension__ using Wide = unsigned __int128;

/// Nanoseconds, 0 to kMaxTime.
using Ticks = std::uint64_t;
/// 2³² seconds. A link that would need longer for the whole traffic of a round counts as one that
/// needs this long, so that every request has a plan.
inline constexpr Ticks kMaxTime = std::uint64_t{1'000'000'000} << 32;

/// bytes / speed, rounded up; at most kMaxTime. Requires speed above 0.
Ticks time_for(std::uint64_t bytes, Bandwidth speed);

/// The limit that one direction of a member's link sets to its share w of the vector:
///
///     fixed + w · slope ≤ time · speed
///
/// Shares count in units of 1/kWhole. Rounds against the member: a share is never larger than the
/// link carries.
class LinkLimit {
  public:
    /// `fixed`, `slope` in bytes. Requires speed above 0 (DEDLOC_CHECK).
    LinkLimit(std::uint64_t fixed, std::int64_t slope, Bandwidth speed);

    /// The earliest time at which any share fits.
    Ticks some_from() const { return some_from_; }
    /// The largest share at `time` ≥ some_from(); grows with time.
    std::uint64_t max_share(Ticks time) const {
        if (time >= all_from_) return kWhole;
        const Wide share = (static_cast<Wide>(time - empty_from_) * rate_) >> shift_;
        return share > kWhole ? kWhole : static_cast<std::uint64_t>(share);
    }
    /// The smallest share at `time` ≥ some_from(); shrinks with time. Above 0 only for a member
    /// that has less traffic the more it reduces: the only contributor or receiver.
    std::uint64_t min_share(Ticks time) const {
        return time >= empty_from_ ? 0 : min_before_empty(time);
    }

    /// The share that is the whole vector: 2⁴⁸.
    static constexpr unsigned kWholeBits = 48;
    static constexpr std::uint64_t kWhole = std::uint64_t{1} << kWholeBits;

  private:
    std::uint64_t min_before_empty(Ticks time) const;

    std::uint64_t fixed_;
    std::int64_t slope_;
    Bandwidth speed_;
    Ticks empty_from_ = 0;  ///< earliest time at which a share of 0 fits
    Ticks some_from_ = 0;
    Ticks all_from_ = 0;      ///< earliest time at which the whole vector fits
    std::uint64_t rate_ = 0;  ///< share for each tick, times 2^shift_
    unsigned shift_ = 0;
};

/// Bounds of one member's share.
struct ShareBounds {
    std::uint64_t min = 0;  ///< smallest share that its link allows
    std::uint64_t max = 0;  ///< largest share that its link allows
};

/// Capacities of all members of a request.
class Capacities {
  public:
    explicit Capacities(const PlanRequest& request);

    /// True if no member can be dialled: there is no plan.
    bool is_empty() const { return reducers_.empty(); }
    /// The earliest time at which every member's own traffic fits under some share.
    Ticks earliest() const { return earliest_; }
    /// Bounds in member order, as multiples of 1/units of the vector; {0, 0} for members that
    /// cannot reduce. Nothing if a member's bounds contradict each other at this time. Requires
    /// time ≥ earliest().
    std::optional<std::vector<ShareBounds>> bounds_at(Ticks time, std::uint64_t units) const;

  private:
    struct Reducer {
        std::uint32_t member;
        LinkLimit upload;
        LinkLimit download;
    };
    std::size_t members_;
    std::vector<Reducer> reducers_;
    Ticks earliest_ = 0;
};

/// The reducers of a plan and the bounds of their shares.
struct Selection {
    std::vector<std::uint32_t> members;  ///< ascending member indices
    std::vector<ShareBounds> bounds;     ///< bounds of these members
};
/// Selects at most `reducers` members: first those that must reduce (least > 0), then those with
/// the largest `max`, of equals the earlier member. Nothing if the selected members cannot average
/// exactly `units` together.
std::optional<Selection> select_reducers(std::span<const ShareBounds> bounds, std::uint64_t units,
                                         std::uint32_t reducers);

/// Divides `units` among the selected members: each gets its `min`, and the rest in proportion to
/// its slack (most − least), rounded by largest remainder; of equal remainders the member with more
/// slack, then the earlier one. Same order as selection.members.
std::vector<std::uint64_t> share_out(const Selection& selection, std::uint64_t units);

/// The first time from `earliest` to kMaxTime at which `is_enough(time)` holds; it must then hold
/// at all later times. kMaxTime if it never does.
template <class Predicate>
Ticks first_time(Ticks earliest, Predicate is_enough) {
    if (earliest >= kMaxTime || is_enough(earliest)) return std::min(earliest, kMaxTime);
    // Strides double, since most plans end soon after the earliest time; then binary search.
    Ticks low = earliest;
    Ticks high = kMaxTime;
    for (Ticks stride = earliest / 64 + 1; stride < kMaxTime - low; stride *= 2) {
        if (is_enough(low + stride)) {
            high = low + stride;
            break;
        }
        low += stride;
    }
    while (high - low > 1) {
        const Ticks middle = low + (high - low) / 2;
        (is_enough(middle) ? high : low) = middle;
    }
    return high;
}

}  // namespace dedloc::planning
