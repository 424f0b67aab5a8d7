// How much of the vector each member can average within a given time. The round's shortest time is
// where these capacities add up to the whole vector.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "peer/planning/request.hpp"

namespace dedloc::planning {

__extension__ using Wide = unsigned __int128;

/// Nanoseconds as the solver counts them: 0 to kLongest.
using Ticks = std::uint64_t;
/// 2³² seconds. A link that would need longer than this for the whole traffic of a round counts as
/// one that needs this long, so that every round has an end.
inline constexpr Ticks kMaxTime = std::uint64_t{1'000'000'000} << 32;

/// bytes / speed, rounded up; at most kLongest.
Ticks time_for(std::uint64_t bytes, std::uint64_t speed);

/// One limit of one member, in its share w:  fixed + w · slope ≤ time · speed.
/// Integer arithmetic that rounds against the member: never a larger share than the link carries.
class LinkLimit {
  public:
    /// The share of one is `whole`. Requires speed ≥ 1.
    LinkLimit(std::uint64_t fixed, std::int64_t slope, std::uint64_t speed);

    /// When a share of nothing fits.
    Ticks empty_from() const { return empty_from_; }
    /// When some share fits.
    Ticks some_from() const { return some_from_; }
    /// The largest share at `time` ≥ some_from(), grows with time.
    std::uint64_t most(Ticks time) const {
        if (time >= all_from_) return kWhole;
        const Wide share = (static_cast<Wide>(time - empty_from_) * rate_) >> shift_;
        return share > kWhole ? kWhole : static_cast<std::uint64_t>(share);
    }
    /// The smallest share at `time` ≥ some_from(), shrinks with time. More than nothing only for a
    /// member that has less traffic the more it reduces: the only contributor or receiver.
    std::uint64_t least(Ticks time) const {
        return time >= empty_from_ ? 0 : min_before_empty(time);
    }

    static constexpr unsigned kWholeBits = 48;
    static constexpr std::uint64_t kWhole = std::uint64_t{1} << kWholeBits;

  private:
    std::uint64_t min_before_empty(Ticks time) const;

    std::uint64_t fixed_;
    std::int64_t slope_;
    std::uint64_t speed_;
    Ticks empty_from_ = 0;
    Ticks some_from_ = 0;
    Ticks all_from_ = 0;      ///< from here on the link carries any share
    std::uint64_t rate_ = 0;  ///< shares a tick, times 2^shift
    unsigned shift_ = 0;
};

/// Bounds of one member's share.
struct ShareBounds {
    std::uint64_t least = 0;
    std::uint64_t most = 0;
};

/// All members of a request.
class Capacities {
  public:
    explicit Capacities(const PlanRequest& request);

    /// Nobody can be dialled: there is no plan.
    bool is_empty() const { return reducers_.empty(); }
    /// When every member's own traffic fits, whatever the shares.
    Ticks earliest() const { return earliest_; }
    /// Bounds in units of 1/units of the vector, in member order; members that cannot reduce have
    /// none. Nothing if some member can keep no bounds at this time. Requires time ≥ earliest().
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

/// Which members reduce, and how much each may take.
struct Selection {
    std::vector<std::uint32_t> members;  ///< ascending
    std::vector<ShareBounds> bounds;     ///< of these
};
/// Those that must (their least is above nothing) and then those that can take most, at most
/// `reducers`; of equals the earlier member. Nothing if they cannot share `units` out.
std::optional<Selection> select_reducers(std::span<const ShareBounds> bounds, std::uint64_t units,
                                         std::uint32_t reducers);

/// Shares `units` out among the selected: each its least, the rest in proportion to what it could
/// take beyond; whole units by largest remainder, of equal remainders the one with more slack, then
/// the earlier member. Same order as selection.members.
std::vector<std::uint64_t> share_out(const Selection& selection, std::uint64_t units);

/// The first time from `earliest` to kLongest at which `is_enough(time)` holds, which must then
/// hold at all later times. kLongest if it never does.
template <class Predicate>
Ticks first_time(Ticks earliest, Predicate is_enough) {
    if (earliest >= kMaxTime || is_enough(earliest)) return std::min(earliest, kMaxTime);
    // Strides that double, for most plans end soon after the earliest time; then halves.
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
