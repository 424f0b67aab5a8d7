// The plan counts with what was seen of a link, where that is less than the claim. A member that
// was not in the last round counts with at most kOfMedian times the median of those that were: its
// first claim cannot take the whole vector. A link that is unknown counts as fast: else the only
// claim of a round would be the median.
#include "peer/round/claims.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "peer/planning/request.hpp"
#include "peer/round/plan_maker.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::round {
namespace {

constexpr std::uint64_t kOfMedian = 4;

using Claim = std::optional<Bandwidth> wire::Join::*;

void bound_newcomers(const PeerKey& self, const std::set<PeerKey>& expected, Claim claim,
                     Callees& callees) {
    std::vector<Bandwidth> known;
    for (const auto& [peer, callee] : callees) {
        if (!expected.contains(peer) || !callee.join) continue;
        if (const auto value = (*callee.join).*claim) known.push_back(*value);
    }
    if (known.size() < 3) return;
    const auto middle = known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2);
    std::ranges::nth_element(known, middle);
    const std::uint64_t limit = std::numeric_limits<std::uint64_t>::max() / kOfMedian;
    const Bandwidth max{kOfMedian * std::min(middle->value(), limit)};
    for (auto& [peer, callee] : callees) {
        if (peer == self || expected.contains(peer) || !callee.join) continue;
        auto& value = (*callee.join).*claim;
        if (value) value = std::min(*value, max);
    }
}

/// No round waits for a member that needs, by its own claim, kTimes times as long for one vector as
/// the median member. Of an even number the slower one of the middle counts, so an honest pair
/// waits for each other. Such a member and one that is doubted count for the plan as if their links
/// were unknown.
void ignore_slow_claims(const RoundRules& rules, const PeerKey& self, const Judge& judge,
                        Callees& callees) {
    constexpr double kTimes = 16;
    constexpr double kMin = seconds_of(kNeverSlow);
    const auto bytes =
        static_cast<double>(planning::size_of(request_for(rules, callees)).contribution_bytes);
    const auto slower_way = [&](const Callee& callee) {
        double max = 0;
        for (const auto& speed : {callee.join->upload, callee.join->download}) {
            if (speed) max = std::max(max, bytes / static_cast<double>(speed->value()));
        }
        return max;
    };
    std::vector<double> times;
    for (const auto& [peer, callee] : callees) times.push_back(slower_way(callee));
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    const double max = std::max(kMin, kTimes * *middle);
    for (auto& [peer, callee] : callees) {
        if (peer == self) continue;
        callee.is_slow = slower_way(callee) > max;
        if (callee.is_slow) callee.may_reduce = false;
        const bool is_doubted = judge.is_doubted(peer) && !callee.may_reduce;
        if (callee.is_slow || is_doubted)
            callee.join->upload = callee.join->download = std::nullopt;
    }
}

}  // namespace

std::optional<std::string> fault_of(const wire::Join& join, Codec codec, Samples allowance) {
    if (join.samples > allowance) {
        return "claims " + std::to_string(join.samples.value()) + " samples, but only " +
               std::to_string(allowance.value()) + " are possible";
    }
    const bool is_of_codec =
        join.samples > Samples{0} ? wire::is_exponent_of(codec, join.exponent) : join.exponent == 0;
    if (!is_of_codec) return "joins with numbers of another codec than the run's";
    return std::nullopt;
}

const PeerKey* largest_overflow(const Callees& callees) {
    const auto claimed = [](const auto& entry) { return entry.second.join->samples; };
    Samples all;
    for (const auto& entry : callees) all += claimed(entry);
    if (all <= Samples{wire::kMaxSamples}) return nullptr;
    return &std::ranges::max_element(callees, {}, claimed)->first;
}

void correct_claims(const RoundRules& rules, const PeerKey& self, const std::set<PeerKey>& expected,
                    const SeenLinks& links, const Judge& judge, Callees& callees) {
    bound_newcomers(self, expected, &wire::Join::upload, callees);
    bound_newcomers(self, expected, &wire::Join::download, callees);
    for (auto& [peer, callee] : callees) {
        if (peer == self || !callee.join) continue;
        callee.join->upload = links.upload_of(peer, callee.join->upload);
        callee.join->download = links.download_of(peer, callee.join->download);
    }
    ignore_slow_claims(rules, self, judge, callees);
}

}  // namespace dedloc::round
