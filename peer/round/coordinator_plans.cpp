// How a round is planned, how its plan is amended, and how it travels. An amendment of a large plan
// goes as a change to the peers that have said that they hold the plan before it, in a heartbeat, a
// Reduced or a Ready; the others get it whole. Relays pass on what they get, so a member may get a
// change without its base: it asks for the whole plan.
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
#include <string>
#include <utility>
#include <vector>

#include "peer/round/claims.hpp"
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

// --- plan and amend --------------------------------------------------------------

/// Whether a majority of the voters has joined.
bool Coordinator::can_voters_judge(const CalledRound& round) const {
    return is_majority_of(voter_.head().voters, [&](const PeerKey& voter) {
        const auto callee = round.callees.find(voter);
        return callee != round.callees.end() && callee->second.join &&
               callee->second.join->receives;
    });
}

void Coordinator::plan(TimePoint now, CalledRound& round, Outbox& out) {
    drop_overflow(now, round.callees, out);
    drop_other_mixtures(round.callees, out);
    if (!round.callees.contains(self_)) return cancel(now, "the coordinator is left out", out);
    if (!can_voters_judge(round)) return cancel(now, "most voters have not joined", out);
    judge_.choose_reducers(round.callees);
    correct_claims(config_.rules, self_, participation_.expected(), participation_.links(), judge_,
                   round.callees);
    const auto probed = participation_.next_probe(round.callees);
    auto planned = make_plan(config_.rules, term_, ++attempt_, config_.scalars_of(step_),
                             round.callees, veterans_, probed);
    participation_.on_plan(planned && planned->is_probed);
    if (planned && planned->is_probed) {
        out.note("probing the link of " + probed->peer.brief());
        participation_.disturb();
    }
    if (!planned) return cancel(now, "no member has samples, or none can be dialled", out);
    planned->plan.mixture = own_.mixtures().at(step_);
    Samples joined;
    for (const wire::PlanMember& member : planned->plan.members) {
        joined += member.samples;
        // A trainer whose gradient overflowed joins with 0 samples, but its reports were true.
        const bool is_finite = round.callees.at(member.peer).join->is_finite;
        if (is_finite) batch_.joined(member.peer, member.samples);
    }
    batch_.gathered(joined);
    expected_ = planned->expected;
    phase_ = PlannedRound{.plan = planned->plan,
                          .callees = std::move(round.callees),
                          .hung_up = std::move(round.hung_up)};
    publish(now, std::get<PlannedRound>(phase_), {}, out);
}

/// The round has another plan than `base`: what members have said of that one is void.
void Coordinator::publish(TimePoint now, PlannedRound& round, const std::optional<wire::Plan>& base,
                          Outbox& out) {
    attempt_ = round.plan.attempt;
    round.attempt = {};
    published_at_ = now;
    send_plan(now, round, base, out);
}

/// A lost member's contribution stays in the sum if all reducers have it.
void Coordinator::amend(TimePoint now, PlannedRound& round, Outbox& out) {
    round.is_amend_due = false;
    std::vector<PeerKey> absent;
    for (const wire::PlanMember& member : round.plan.members) {
        const auto callee = round.callees.find(member.peer);
        if (callee != round.callees.end() && callee->second.is_lost) absent.push_back(member.peer);
    }
    std::set<PeerKey>& gone = round.gone;
    if (gone.empty() && is_ready_at_all_but_lost(round)) return;
    const auto reduces = [&](const PeerKey& peer) { return round.reduces(peer); };
    bool moves_chunks = !round.demoted.empty() || std::ranges::any_of(gone, reduces);
    for (const PeerKey& peer : absent) {
        if (!reduces(peer) && round.is_reduced_by_all_but(peer)) continue;
        gone.insert(peer);
        moves_chunks = moves_chunks || reduces(peer);
    }
    // Contributors must send a chunk again when it moves: lost members cannot, so they are out.
    if (moves_chunks) gone.insert(absent.begin(), absent.end());
    if (gone.empty() && round.demoted.empty()) return;
    auto amended =
        amend_plan(config_.rules, round.plan, round.callees, gone, round.demoted, veterans_);
    if (!amended) return cancel(now, "too few members remain", out);
    for (const PeerKey& peer : gone) round.callees.erase(peer);
    if (!round.callees.contains(self_)) return cancel(now, "the coordinator is left out", out);
    out.note("the round of step " + std::to_string(step_.value()) + " goes on without " +
             std::to_string(gone.size()) + " members and " + std::to_string(round.demoted.size()) +
             " reducers");
    const wire::Plan base = std::exchange(round.plan, std::move(*amended));
    round.is_amended = true;
    publish(now, round, base, out);
    gone.clear();
    round.demoted.clear();
}

// --- send ------------------------------------------------------------------------

void Coordinator::send_plan(TimePoint now, PlannedRound& round,
                            const std::optional<wire::Plan>& base, Outbox& out) {
    const wire::Plan& plan = round.plan;
    Delivery& delivery = round.delivery;
    const std::set<PeerKey> holders = std::exchange(delivery.holders, {});
    std::set<PeerKey> all = addressees();
    const bool is_small = plan.members.size() <= kMaxWholeMembers;
    const auto change = base && !is_small ? wire::change_of(*base, plan) : std::nullopt;
    if (change) {
        std::set<PeerKey> informed;
        for (const PeerKey& peer : holders) {
            if (all.erase(peer) > 0) informed.insert(peer);
        }
        if (!informed.empty()) send_to(informed, *change, out);
    }
    // The last entry is sent first: the coordinator's own member and the relays go to the end.
    const auto is_first = [&](const PeerKey& peer) {
        return peer == self_ || std::ranges::any_of(plan.relays, [&](std::uint32_t k) {
                   return plan.members[k].peer == peer;
               });
    };
    // Clocks and latencies differ by less than a quarter of the time that every member waits.
    delivery.honest_at = now + config_.rules.stall_timeout * 3 / 4;
    delivery.untold.assign(all.begin(), all.end());
    std::stable_partition(delivery.untold.begin(), delivery.untold.end(),
                          [&](const PeerKey& peer) { return !is_first(peer); });
    tell_some(now, round, out);
    if (!delivery.untold.empty()) return;
    // All copies left at once: there is no batch to wait for.
    delivery.tell_at = now;
    delivery.heed_at = delivery.honest_at;
    round.deadline = now + config_.rules.coordinator_timeout(expected_);
}

/// Sends the next batch of copies. Deadlines count from the last one.
void Coordinator::tell_some(TimePoint now, PlannedRound& round, Outbox& out) {
    Delivery& delivery = round.delivery;
    std::vector<PeerKey>& untold = delivery.untold;
    if (untold.empty()) return;
    const double seconds =
        wire_bytes_of(round.plan) / (kUplinkPart * upload_of(round.callees.at(self_)));
    const auto max = static_cast<std::size_t>(std::max(1.0, kSecondsAtOnce / seconds));
    const std::size_t count = std::min(max, untold.size());
    out.send_to_all({untold.rbegin(), untold.rbegin() + static_cast<std::ptrdiff_t>(count)}, step_,
                    round.plan);
    untold.resize(untold.size() - count);
    published_at_ = now;
    const std::chrono::duration<double> time{static_cast<double>(count) * seconds};
    delivery.tell_at = now + std::chrono::duration_cast<Duration>(time);
    round.deadline = delivery.tell_at + config_.rules.coordinator_timeout(expected_);
    if (untold.empty()) delivery.tell_at += config_.rules.heartbeat;
    delivery.heed_at = now + config_.rules.stall_timeout;
}

/// Once for each peer and attempt, so that a liar gets the plan that it is sent anyway.
void Coordinator::on_plan_query(TimePoint now, const PeerKey& from, StepIndex step,
                                const wire::PlanQuery& query, Outbox& out) {
    auto* const round = in<PlannedRound>();
    if (!is_about_us(step, query.term) || round == nullptr) return;
    if (query.attempt != attempt_ || !receivers().contains(from)) return;
    const bool is_first = round->attempt.resent_at.try_emplace(from, now).second;
    if (is_first) out.send(from, step_, round->plan);
}

void Coordinator::on_heartbeat(TimePoint now, const PeerKey& from, const wire::Heartbeat& heartbeat,
                               Outbox& out) {
    auto* const round = in<PlannedRound>();
    if (round == nullptr) return;
    const bool has_plan = heartbeat.term == term_ && heartbeat.attempt == attempt_;
    if (has_plan) round->delivery.holders.insert(from);
    if (round->plan.relays.empty() || !round->callees.contains(from)) return;
    const auto resent = round->attempt.resent_at.find(from);
    const TimePoint last =
        resent != round->attempt.resent_at.end() ? resent->second : published_at_;
    if (has_plan || now < last + config_.rules.heartbeat || links_.is_crowded()) return;
    round->attempt.resent_at[from] = now;
    out.send(from, step_, round->plan);
}

}  // namespace dedloc::round
