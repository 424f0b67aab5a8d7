// A member whose contribution, or averages, arrived here long after all others' has a slower uplink
// than it claims, and one that received the average long after all others a slower downlink.
#include "peer/round/late_links.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "peer/planning/request.hpp"
#include "peer/round/plan_maker.hpp"

namespace dedloc::round {
namespace {

/// The averages of a member that was to send less are no measure of its uplink: they wait for
/// contributions, which take longer than so few bytes.
constexpr std::uint64_t kLeastJudged = 1 << 20;

using Last = std::optional<std::pair<PeerKey, Duration>>;

/// The peer whose time is half as long again as every other's, and longer than planned; nothing if
/// there are fewer times than that.
Last last_of(const RoundTimes& round, const std::map<PeerKey, TimePoint>& times, std::size_t min) {
    Last last;
    Duration second{};
    for (const auto& [peer, time] : times) {
        const Duration took = time - round.published_at;
        if (!last || took > last->second) {
            if (last) second = last->second;
            last = {peer, took};
        } else {
            second = std::max(second, took);
        }
    }
    const bool is_alone = last && times.size() >= min && last->second > second + second / 2 &&
                          last->second > round.expected;
    return is_alone ? last : std::nullopt;
}

}  // namespace

void judge_links(TimePoint now, const RoundRules& rules, const wire::Plan& plan,
                 const RoundTimes& times, SeenLinks& links) {
    constexpr Duration kMin = std::chrono::seconds{1};
    if (times.expected == Duration{}) return;
    if (now - times.published_at < times.expected + std::max(times.expected / 2, kMin)) return;
    const auto sent_by = [&](const PeerKey& peer) {
        return traffic_of(rules.codec, plan, peer).sent;
    };
    if (const auto last = last_of(times, times.contributed, 3)) {
        // Its contribution and its averages share its uplink.
        const auto average = times.averaged.find(last->first);
        const Duration took = average == times.averaged.end()
                                  ? last->second
                                  : std::max(last->second, average->second - times.published_at);
        links.on_slow_send(last->first, sent_by(last->first), took);
    } else if (const auto last_average = last_of(times, times.averaged, 1)) {
        const std::uint64_t bytes = sent_by(last_average->first);
        if (bytes >= kLeastJudged) {
            links.on_slow_send(last_average->first, bytes, last_average->second);
        }
    } else if (const auto last_ready = last_of(times, times.ready, 3)) {
        const auto bytes = planning::on_the_wire(rules.codec).bytes_of(rules.elements);
        links.on_slow_receive(last_ready->first, bytes, last_ready->second);
    }
}

}  // namespace dedloc::round
