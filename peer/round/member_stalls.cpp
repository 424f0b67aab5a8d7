// Which members this one reports to the coordinator because their chunks are missing here.
//
// Stalled   A member that has placed no missing chunk for a while. A chunk that is of no use here
//           is no progress.
// Too slow  A member that sends one missing chunk after another, and the round gets too
//           long. The coordinator itself may miss none of its chunks.
//
// A reducer that lacks a contribution sends no averages, so it and its receivers would complain at
// the same time. Receivers wait half a stall_timeout longer: the coordinator hears about the sender
// first.
#include <algorithm>
#include <chrono>
#include <set>
#include <vector>

#include "peer/round/member.hpp"

namespace dedloc::round {
namespace {

constexpr Duration kBetweenComplaints = std::chrono::seconds{1};
/// How many times as long as planned a round may take before its pauses look like stalls.
constexpr int kSlowness = 4;

}  // namespace

/// A part's chunks are spread over the whole round, so a small part has long pauses between them.
/// How long they are is not known if the plan was made without knowing any link.
Duration Member::stall_timeout_of(std::uint32_t part) const {
    const wire::Plan& followed = *plan();
    if (followed.expected == Duration{}) return kSlowness * config_.rules.stall_timeout;
    const std::uint32_t chunks = std::max<std::uint32_t>(wire::chunks_of(followed, part), 1);
    return config_.rules.stall_timeout + kSlowness * followed.expected / chunks;
}

/// When the round is too long, if the planner knows any link.
TimePoint Member::latest_end() const {
    const Duration expected = plan()->expected;
    if (expected == Duration{}) return kNever;
    return round_->arrivals.planned_at() + config_.rules.longest_round(expected);
}

void Member::complain(TimePoint now, Reducing& reducing, Outbox& out) {
    reducing.stall_at = now + kBetweenComplaints;
    const wire::Plan& followed = *plan();
    const ArrivalTimes& arrivals = round_->arrivals;
    const bool is_too_long = now >= latest_end();
    const std::uint32_t own = wire::index_of(followed, self_);
    const auto late_of = [&](const std::vector<std::uint32_t>& missing, wire::ChunkKind kind) {
        std::vector<std::uint32_t> late;
        for (const std::uint32_t k : missing) {
            const auto placed = arrivals.last_placed(followed.members[k].peer);
            const TimePoint since =
                std::max(arrivals.planned_at(), placed.value_or(arrivals.planned_at()));
            const bool is_sender = kind == wire::ChunkKind::kScatter;
            const TimePoint limit =
                std::min(since + stall_timeout_of(is_sender ? own : k), latest_end());
            const Duration grace = is_sender ? Duration{} : config_.rules.stall_timeout / 2;
            if (now >= limit + grace) late.push_back(k);
        }
        return late;
    };
    wire::Stalled stalled{
        .term = followed.term,
        .attempt = followed.attempt,
        .senders = late_of(is_too_long ? round_->reduction->slowest_senders()
                                       : round_->reduction->missing_senders(),
                           wire::ChunkKind::kScatter),
        .reducers = late_of(round_->reduction->missing_reducers(), wire::ChunkKind::kGather)};
    if (stalled.senders.empty() && stalled.reducers.empty()) return;
    out.send(reducing.term.coordinator, step_, std::move(stalled));
}

/// True as well for one from which nothing is due here.
bool Member::is_sent_by(TimePoint now, const PeerKey& peer) const {
    if (!missing().senders.contains(peer)) return true;
    const Duration stall = stall_timeout_of(wire::index_of(*plan(), self_));
    const auto placed = round_->arrivals.last_placed(peer);
    return placed && *placed >= round_->arrivals.planned_at() &&
           now < std::min(*placed + stall, latest_end());
}

Member::Missing Member::missing() const {
    Missing missing;
    if (phase() != Phase::kReducing) return missing;
    for (const std::uint32_t k : round_->reduction->slowest_senders()) {
        missing.senders.insert(plan()->members[k].peer);
    }
    for (const std::uint32_t k : round_->reduction->missing_reducers()) {
        missing.reducers.insert(plan()->members[k].peer);
    }
    return missing;
}

}  // namespace dedloc::round
