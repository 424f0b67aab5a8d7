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

/// Fewer bytes take no time worth measuring. A link is never taken to be slower than so many in the
/// time: else a small part that is late for another reason makes the next part smaller, and so on.
constexpr std::uint64_t kMinJudgedBytes = 1 << 20;

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

/// When the last contribution of another member than `peer` was here.
TimePoint last_contribution(const RoundTimes& round, const PeerKey& peer) {
    TimePoint last = round.published_at;
    for (const auto& [contributor, time] : round.contributed) {
        if (contributor != peer) last = std::max(last, time);
    }
    return last;
}

}  // namespace

void judge_links(TimePoint now, const RoundRules& rules, const wire::Plan& plan,
                 const RoundTimes& times, SeenLinks& links) {
    constexpr Duration kMin = std::chrono::seconds{1};
    if (times.expected == Duration{}) return;
    const Duration late = std::max(times.expected / 2, kMin);
    if (now - times.published_at < times.expected + late) return;
    const auto sent_by = [&](const PeerKey& peer) {
        return traffic_of(rules.codec, plan, peer).sent;
    };
    // Its contribution and its averages share its uplink.
    const auto note_slow_send = [&](const PeerKey& peer, Duration took) {
        const auto average = times.averaged.find(peer);
        if (average != times.averaged.end()) {
            took = std::max(took, average->second - times.published_at);
        }
        links.on_slow_send(peer, std::max(sent_by(peer), kMinJudgedBytes), took);
    };
    if (const auto last = last_of(times, times.contributed, 3)) {
        note_slow_send(last->first, last->second);
    } else if (const auto last_average = last_of(times, times.averaged, 1)) {
        // It waits for contributions. In a run's first rounds these are late while no link is
        // known, and their delay, divided by a small part, would say nothing of its uplink.
        const auto& [peer, took] = *last_average;
        const Duration waited = times.averaged.at(peer) - last_contribution(times, peer);
        if (sent_by(peer) >= kMinJudgedBytes || waited >= late) note_slow_send(peer, took);
    } else if (const auto last_ready = last_of(times, times.ready, 3)) {
        const auto bytes = planning::on_the_wire(rules.codec).bytes_of(rules.elements);
        links.on_slow_receive(last_ready->first, std::max(bytes, kMinJudgedBytes),
                              last_ready->second);
    }
}

}  // namespace dedloc::round
