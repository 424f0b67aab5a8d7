// How the coordinator judges what members claim.
//
// Samples     Reports and Joins count up to the allowance: the samples that the device in the
//             peer's ticket can compute in the time since the head moved. A Join beyond it leaves
//             its sender out. Reports are clipped to it, and discounted when the peer joins with
//             less than it reported (progress/target_batch).
//
// An exclusion covers all devices of the same user (round/exclusions.hpp).
#include <algorithm>
#include <chrono>
#include <compare>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/round/coordinator.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::round {

// --- eligibility -------------------------------------------------------------

bool Coordinator::is_eligible(TimePoint now, const PeerKey& peer,
                              const membership::Known& known) const {
    const Head& head = voter_.head();
    if (exclusions_.is_out(account_of(peer), now)) return false;
    const wire::Heartbeat& heartbeat = known.heartbeat;
    const bool is_sound = heartbeat.has_state && heartbeat.state == own_.digest();
    return known.has_reported && known.generation == head.generation && known.step == head.step &&
           heartbeat.record == head.record && (is_sound || !known.receives);
}

/// Upper bound of the samples that this device can have computed for the head's round. It has
/// computed for at most as long as this peer has had that head, with overlap also the head before,
/// and one second more, because it may have learned of the head earlier.
Samples Coordinator::allowance(TimePoint now, const PeerKey& peer,
                               const membership::Known& known) const {
    const std::chrono::duration<double> time = now - computed_since(peer) + std::chrono::seconds{1};
    const double most = static_cast<double>(known.max_samples_per_second) * time.count();
    const double bounded = std::min(most, static_cast<double>(wire::kMaxSamples));
    return std::min(Samples{static_cast<std::uint64_t>(bounded)} + carried_,
                    Samples{wire::kMaxSamples});
}

Exclusions::Account Coordinator::account_of(const PeerKey& peer) const {
    const membership::Known* known = links_.find(peer);
    return Exclusions::account_of(peer, known != nullptr ? known->user : 0);
}

void Coordinator::exclude(TimePoint now, const PeerKey& peer, const std::string& why, Outbox& out,
                          Duration delay) {
    exclude(now, peer, account_of(peer), why, out, delay);
}

void Coordinator::exclude(TimePoint now, const PeerKey& peer, const Exclusions::Account& account,
                          const std::string& why, Outbox& out, Duration delay) {
    constexpr Duration kMaxTurn = std::chrono::minutes{30};
    const Duration round =
        std::clamp(now - head_since_, config_.rules.heartbeat, config_.rules.join_timeout);
    const std::size_t members = std::max(seats_.size(), expected_members_.size());
    const Duration lost = static_cast<Duration::rep>(members) * std::min(delay, kMaxTurn);
    const Duration turn = std::max(round, std::min(lost, kMaxTurn));
    const Duration length = exclusions_.exclude(account, now, turn);
    batch_.forget(peer);
    for (const auto& [other, known] : links_.known()) {
        if (account_of(other) == account) batch_.forget(other);
    }
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(length).count();
    out.accuse(peer, peer.brief() + " " + why + ": left out for " + std::to_string(seconds) + " s");
}

/// The peers that sit if there are more than seats: in turns over the accounts, so that neither
/// many keys nor many jobs of one user take the seats of others. Peers of one account that train,
/// and those of the last round, come first; no order of keys helps, because it is drawn anew for
/// each step. At most kMaxReducers peers do not train.
std::vector<PeerKey> Coordinator::seated(std::vector<PeerKey> called) const {
    const std::size_t seats = wire::kMaxMembers - 1;  // without ours
    if (called.size() <= seats) return called;
    struct Candidate {
        bool is_idle;  ///< it does not train
        bool is_new;   ///< it was not in the last round
        std::uint64_t draw;
        PeerKey peer;
        auto operator<=>(const Candidate&) const = default;
    };
    std::map<Exclusions::Account, std::vector<Candidate>> by_account;
    for (const PeerKey& peer : called) {
        Random random = Random{config_.random_seed}.split(voter_.head().step.value());
        std::uint64_t name = 0;
        std::memcpy(&name, peer.bytes.data(), sizeof name);
        by_account[account_of(peer)].push_back({.is_idle = !trains(peer),
                                                .is_new = !expected_members_.contains(peer),
                                                .draw = random.split(name).next(),
                                                .peer = peer});
    }
    struct Turn {
        std::size_t turn;  ///< how many of its account come before it
        Candidate candidate;
        auto operator<=>(const Turn&) const = default;
    };
    std::vector<Turn> turns;
    for (auto& [account, candidates] : by_account) {
        std::ranges::sort(candidates);
        for (std::size_t k = 0; k < candidates.size(); ++k) turns.push_back({k, candidates[k]});
    }
    std::ranges::sort(turns);
    called.clear();
    std::size_t idle = 0;
    for (const auto& [turn, candidate] : turns) {
        if (called.size() == seats) break;
        if (candidate.is_idle && ++idle > wire::kMaxReducers) continue;
        called.push_back(candidate.peer);
    }
    return called;
}

bool Coordinator::trains(const PeerKey& peer) const {
    const membership::Known* known = links_.find(peer);
    return known != nullptr && known->role == Role::kTrainer;
}

// --- samples ------------------------------------------------------------------

void Coordinator::on_report(TimePoint now, const PeerKey& from, StepIndex step, Samples samples,
                            double samples_per_second) {
    if (exclusions_.is_out(account_of(from), now)) return;
    if (const membership::Known* known = links_.find(from)) {
        const Attendance attendance = attendances_.of(from);
        if (attendance != Attendance::kEveryRound) {
            // Only what it holds counts, and only for a round to which it is called.
            if (!attendances_.is_called(from, known->heartbeat, step)) return batch_.forget(from);
            if (attendance != Attendance::kSomeRounds) samples_per_second = 0;
        }
        samples = std::min(samples, allowance(now, from, *known));
        samples_per_second =
            std::min(samples_per_second, static_cast<double>(known->max_samples_per_second));
    }
    batch_.report(from, now, step, samples, samples_per_second);
}

void Coordinator::on_join(TimePoint now, const PeerKey& from, StepIndex step,
                          const wire::Join& join, Outbox& out) {
    const auto seat = seats_.find(from);
    if (!is_about_us(step, join.term) || phase_ != Phase::kCalled || seat == seats_.end()) return;
    const membership::Known* known = links_.find(from);
    if (known != nullptr && join.samples > allowance(now, from, *known)) {
        exclude(now, from,
                "claims " + std::to_string(join.samples.value()) + " samples, but only " +
                    std::to_string(allowance(now, from, *known).value()) + " are possible",
                out);
        seats_.erase(seat);
        return;
    }
    const bool is_of_codec = join.samples > Samples{0}
                                 ? wire::is_exponent_of(config_.rules.codec, join.exponent)
                                 : join.exponent == 0;
    if (!is_of_codec) {
        exclude(now, from, "joins with numbers of another codec than the run's", out);
        seats_.erase(seat);
        return;
    }
    if (join.receives && join.state != own_.digest()) {
        out.accuse(from, from.brief() + " joined with a different state: left out");
        seats_.erase(seat);
        return;
    }
    if (!join.is_finite) out.note(from.brief() + " joined with a gradient that is not finite");
    seat->second.join = join;
    attendances_.on_join(from, step, called_at_, now - called_at_, join.samples,
                         called_at_ - computing_since_);
}

/// Leaves out the largest claims until the sum of samples fits a record (wire::kMaxSamples).
void Coordinator::drop_overflow(TimePoint now, Outbox& out) {
    const auto claimed = [](const auto& entry) { return entry.second.join->samples; };
    const auto sum = [&] {
        Samples all;
        for (const auto& entry : seats_) all += claimed(entry);
        return all;
    };
    while (sum() > Samples{wire::kMaxSamples}) {
        const auto most = std::ranges::max_element(seats_, {}, claimed);
        exclude(now, most->first, "claims more samples than a round can hold", out);
        seats_.erase(most);
    }
}

}  // namespace dedloc::round
