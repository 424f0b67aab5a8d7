// README.md's two inequalities for each member become two LinkLimits. Their division is done once,
// as a fixed-point rate with as many bits as a 128-bit product leaves, because bounds_at() runs for
// every time that is tried. Rounding always goes against the member (`max` down, `min` up), and
// bounds only widen with time: the binary search relies on that.
#include "peer/planning/capacity.hpp"

#include <bit>
#include <numeric>

#include "peer/base/check.hpp"

namespace dedloc::planning {
namespace {

constexpr std::uint64_t kTicksPerSecond = 1'000'000'000;
/// 8.8 TB/s: no link is faster, and products stay below 2¹²⁷.
constexpr Bandwidth kFastest{std::uint64_t{1} << 43};
constexpr int kRateBits = 62;

Wide divided_up(Wide value, Wide by) {
    return (value + by - 1) / by;
}

/// share · units / kWhole, rounded down; units_covering() rounds up.
std::uint64_t units_within(std::uint64_t share, std::uint64_t units) {
    return static_cast<std::uint64_t>((static_cast<Wide>(share) * units) >> LinkLimit::kWholeBits);
}
std::uint64_t units_covering(std::uint64_t share, std::uint64_t units) {
    const Wide rounded = static_cast<Wide>(share) * units + LinkLimit::kWhole - 1;
    return static_cast<std::uint64_t>(rounded >> LinkLimit::kWholeBits);
}

int bits_of(Wide value) {
    const auto high = static_cast<std::uint64_t>(value >> 64);
    const auto low = static_cast<std::uint64_t>(value);
    return static_cast<int>(high > 0 ? 64 + std::bit_width(high) : std::bit_width(low));
}

std::int64_t difference(std::uint64_t a, std::uint64_t b) {
    return static_cast<std::int64_t>(a) - static_cast<std::int64_t>(b);
}

}  // namespace

Ticks time_for(std::uint64_t bytes, Bandwidth speed) {
    const Wide ticks = divided_up(static_cast<Wide>(bytes) * kTicksPerSecond, speed.value());
    return ticks > kMaxTime ? kMaxTime : static_cast<Ticks>(ticks);
}

LinkLimit::LinkLimit(std::uint64_t fixed, std::int64_t slope, Bandwidth speed)
    : fixed_(fixed), slope_(slope), speed_(std::min(speed, kFastest)) {
    DEDLOC_CHECK(speed > Bandwidth{0}, "a link has bandwidth");
    const std::uint64_t at_all =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(fixed) + slope);
    empty_from_ = time_for(fixed, speed_);
    all_from_ = time_for(at_all, speed_);
    some_from_ = std::min(empty_from_, all_from_);
    if (slope <= 0) return;
    // rate = kWhole · speed / (slope · kTicksPerSecond), with all the bits that products allow.
    const int scale = 127 - bits_of(speed_.value());
    const Wide divisor = static_cast<Wide>(slope) * kTicksPerSecond;
    const Wide rate = (static_cast<Wide>(speed_.value()) << scale) / divisor;
    const int surplus = std::max(0, bits_of(rate) - kRateBits);
    rate_ = static_cast<std::uint64_t>(rate >> surplus);
    shift_ = static_cast<unsigned>(scale - surplus) - kWholeBits;
}

std::uint64_t LinkLimit::min_before_empty(Ticks time) const {
    if (slope_ >= 0) return 0;
    const Wide carried = static_cast<Wide>(time) * speed_.value();
    const Wide wanted = static_cast<Wide>(fixed_) * kTicksPerSecond;
    if (carried >= wanted) return 0;
    const Wide divisor = static_cast<Wide>(static_cast<std::uint64_t>(-slope_)) * kTicksPerSecond;
    const Wide missing = wanted - carried;
    if (missing >= divisor) return kWhole;
    return static_cast<std::uint64_t>(divided_up(missing << kWholeBits, divisor));
}

Capacities::Capacities(const PlanRequest& request) : members_(request.members.size()) {
    const VectorSize size = size_of(request);
    const Traffic traffic = traffic_of(request);
    const std::vector<LinkSpeed> links = known_links(request);
    for (std::uint32_t k = 0; k < members_; ++k) {
        const Member& member = request.members[k];
        const std::uint64_t own_contribution = member.contributes ? size.contribution_bytes : 0;
        const std::uint64_t own_average = member.receives ? size.average_bytes : 0;
        if (!member.is_reachable) {
            earliest_ = std::max({earliest_, time_for(own_contribution, links[k].upload),
                                  time_for(own_average, links[k].download)});
            continue;
        }
        const std::uint64_t averages =
            (traffic.receivers - (member.receives ? 1 : 0)) * size.average_bytes;
        const std::uint64_t contributions =
            (traffic.contributors - (member.contributes ? 1 : 0)) * size.contribution_bytes;
        const LinkLimit upload{own_contribution, difference(averages, own_contribution),
                               links[k].upload};
        const LinkLimit download{own_average, difference(contributions, own_average),
                                 links[k].download};
        earliest_ = std::max({earliest_, upload.some_from(), download.some_from()});
        reducers_.push_back({k, upload, download});
    }
}

std::optional<std::vector<ShareBounds>> Capacities::bounds_at(Ticks time,
                                                              std::uint64_t units) const {
    std::vector<ShareBounds> bounds(members_);
    for (const Reducer& reducer : reducers_) {
        const std::uint64_t max =
            std::min(reducer.upload.max_share(time), reducer.download.max_share(time));
        const std::uint64_t min =
            std::max(reducer.upload.min_share(time), reducer.download.min_share(time));
        ShareBounds& bound = bounds[reducer.member];
        bound = {.min = units_covering(min, units), .max = units_within(max, units)};
        if (bound.min > bound.max) return std::nullopt;
    }
    return bounds;
}

std::optional<Selection> select_reducers(std::span<const ShareBounds> bounds, std::uint64_t units,
                                         std::uint32_t reducers) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t k = 0; k < bounds.size(); ++k) {
        if (bounds[k].max > 0) order.push_back(k);
    }
    const auto goes_before = [&](std::uint32_t a, std::uint32_t b) {
        const bool a_must = bounds[a].min > 0;
        const bool b_must = bounds[b].min > 0;
        if (a_must != b_must) return a_must;
        if (bounds[a].max != bounds[b].max) return bounds[a].max > bounds[b].max;
        return a < b;
    };
    if (order.size() > reducers) {
        const auto end = order.begin() + static_cast<std::ptrdiff_t>(reducers);
        std::nth_element(order.begin(), end, order.end(), goes_before);
        if (std::any_of(end, order.end(), [&](std::uint32_t k) { return bounds[k].min > 0; })) {
            return std::nullopt;
        }
        order.erase(end, order.end());
    }
    std::sort(order.begin(), order.end());
    Selection selection{.members = std::move(order), .bounds = {}};
    Wide min = 0;
    Wide max = 0;
    for (const std::uint32_t k : selection.members) {
        selection.bounds.push_back(bounds[k]);
        min += bounds[k].min;
        max += bounds[k].max;
    }
    if (min > units || max < units) return std::nullopt;
    return selection;
}

std::vector<std::uint64_t> share_out(const Selection& selection, std::uint64_t units) {
    struct Remainder {
        Wide rest;
        std::uint64_t slack;
        std::size_t at;
    };
    std::uint64_t min = 0;
    Wide total_slack = 0;
    for (const ShareBounds& bound : selection.bounds) {
        min += bound.min;
        total_slack += bound.max - bound.min;
    }
    DEDLOC_CHECK(min <= units && total_slack >= units - min, "the units can be shared out");
    std::vector<std::uint64_t> shares;
    std::vector<Remainder> remainders;
    std::uint64_t left = units - min;
    for (std::size_t at = 0; at < selection.bounds.size(); ++at) {
        const ShareBounds& bound = selection.bounds[at];
        const std::uint64_t slack = bound.max - bound.min;
        const Wide quota = static_cast<Wide>(slack) * (units - min);
        const auto whole = static_cast<std::uint64_t>(total_slack > 0 ? quota / total_slack : 0);
        shares.push_back(bound.min + whole);
        remainders.push_back({total_slack > 0 ? quota % total_slack : 0, slack, at});
        left -= whole;
    }
    std::sort(remainders.begin(), remainders.end(), [](const Remainder& a, const Remainder& b) {
        if (a.rest != b.rest) return a.rest > b.rest;
        return a.slack != b.slack ? a.slack > b.slack : a.at < b.at;
    });
    for (std::size_t k = 0; k < left; ++k) ++shares[remainders[k].at];
    return shares;
}

}  // namespace dedloc::planning
