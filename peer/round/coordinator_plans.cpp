// How a plan travels. An amendment of a large plan goes as a change to the peers that have said
// that they hold the plan before it, in a heartbeat, a Reduced or a Ready; the others get it whole.
// Relays pass on what they get, so a member may get a change without its base: it asks for the
// whole plan.
//
// The first round has no relays, so the coordinator sends the plan to every member: 70 MB for 1,000
// members. Sent all at once, the copies would saturate its uplink for longer than failure_timeout:
// no heartbeat would get through, and members would consider the coordinator failed. So it sends
// them in batches, at half the bandwidth of its uplink, and holds back its own chunks until the
// last batch. It amends the plan only after members have had time to acknowledge it, and ignores
// complaints about members that may not have received it.
#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "peer/round/coordinator.hpp"
#include "peer/round/relays.hpp"
#include "peer/wire/plan_change.hpp"

namespace dedloc::round {
namespace {

/// Plans of up to so many members are sent whole: 4 kB.
constexpr std::size_t kMaxWholeMembers = 64;
/// Seconds of the uplink that plans may take at once.
constexpr double kSecondsAtOnce = 0.25;
/// Part of the uplink for plans. Heartbeats to all members have the rest: of 1 Mbit/s and 130
/// members they need 0.4.
constexpr double kUplinkPart = 0.5;

}  // namespace

void Coordinator::send_plan(TimePoint now, const std::optional<wire::Plan>& base, Outbox& out) {
    const std::set<PeerKey> holders = std::exchange(plan_holders_, {});
    std::set<PeerKey> all = addressees();
    const bool is_small = plan_->members.size() <= kMaxWholeMembers;
    const auto change = base && !is_small ? wire::change_of(*base, *plan_) : std::nullopt;
    if (change) {
        std::set<PeerKey> informed;
        for (const PeerKey& peer : holders) {
            if (all.erase(peer) > 0) informed.insert(peer);
        }
        if (!informed.empty()) send_to(informed, *change, out);
    }
    // The last entry is sent first: the coordinator's own member and the relays go to the end.
    const auto is_first = [&](const PeerKey& peer) {
        return peer == self_ || std::ranges::any_of(plan_->relays, [&](std::uint32_t k) {
                   return plan_->members[k].peer == peer;
               });
    };
    untold_.assign(all.begin(), all.end());
    std::stable_partition(untold_.begin(), untold_.end(),
                          [&](const PeerKey& peer) { return !is_first(peer); });
    tell_some(now, out);
    if (!untold_.empty()) return;
    // All copies left at once: there is no batch to wait for.
    tell_at_ = now;
    // A complaint before that is a lie: clocks and latencies differ by less than a quarter.
    heed_at_ = now + config_.rules.stall_timeout * 3 / 4;
    deadline_ = now + config_.rules.coordinator_timeout(expected_);
}

/// Sends the next batch of copies. Deadlines count from the last one.
void Coordinator::tell_some(TimePoint now, Outbox& out) {
    if (untold_.empty()) return;
    const double seconds = wire_bytes_of(*plan_) / (kUplinkPart * upload_of(seats_.at(self_)));
    const auto most = static_cast<std::size_t>(std::max(1.0, kSecondsAtOnce / seconds));
    const std::size_t count = std::min(most, untold_.size());
    out.send_to_all({untold_.rbegin(), untold_.rbegin() + static_cast<std::ptrdiff_t>(count)},
                    step_, *plan_);
    untold_.resize(untold_.size() - count);
    published_at_ = now;
    const std::chrono::duration<double> time{static_cast<double>(count) * seconds};
    tell_at_ = now + std::chrono::duration_cast<Duration>(time);
    deadline_ = tell_at_ + config_.rules.coordinator_timeout(expected_);
    if (untold_.empty()) tell_at_ += config_.rules.heartbeat;
    heed_at_ = now + config_.rules.stall_timeout;
}

/// Once for each peer and attempt, so that a liar gets the plan that it is sent anyway.
void Coordinator::on_plan_query(TimePoint now, const PeerKey& from, StepIndex step,
                                const wire::PlanQuery& query, Outbox& out) {
    if (!is_about_us(step, query.term) || phase_ != Phase::kPlanned) return;
    if (query.attempt != attempt_ || !receivers().contains(from)) return;
    if (plan_resent_at_.try_emplace(from, now).second) out.send(from, step_, *plan_);
}

}  // namespace dedloc::round
