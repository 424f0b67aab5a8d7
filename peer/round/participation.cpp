// A peer may be called if it has reported the head's state and is not excluded; its turn says
// whether it is (turns.hpp). Of more peers than a round can have, accounts take turns.
#include "peer/round/participation.hpp"

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstring>
#include <map>
#include <utility>

#include "peer/base/random.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::round {

// --- what happens --------------------------------------------------------------

/// A large swarm loses some member in nearly every round; the loss of a few does not change its
/// speed.
void Participation::on_decision(TimePoint now, const CommitRecord& record, Duration took) {
    constexpr std::size_t kFew = 16;
    Samples samples;
    for (const CommitLine& line : record.members) samples += line.samples;
    const bool is_disturbed = kFew * disturbances_ > record.members.size();
    probe_.on_decision(took);
    turns_.on_decision(samples, now - head_.since(), is_disturbed);
}

void Participation::on_head(const CommitRecord* last) {
    disturbances_ = 0;
    expected_.clear();
    if (last == nullptr) return;
    for (const CommitLine& line : last->members) expected_.insert(line.peer);
}

void Participation::on_link_lost(const PeerKey& peer, bool was_called) {
    has_lost_any_ = true;
    disturbances_ += expected_.contains(peer) || was_called ? 1 : 0;
}

bool Participation::on_join(TimePoint now, const PeerKey& peer, StepIndex step, TimePoint called_at,
                            Samples samples) {
    return turns_.on_join(peer, step, called_at, now - called_at, samples,
                          called_at - head_.computing_since());
}

std::optional<ProbedLink> Participation::next_probe(const Callees& callees) {
    const bool may_probe = config_.rules.probes_links && !turns_.is_on_trial();
    return may_probe ? probe_.next(callees) : std::nullopt;
}

// --- which peers ----------------------------------------------------------------

bool Participation::is_eligible(TimePoint now, const PeerKey& peer,
                                const membership::Known& known) const {
    const Head& head = voter_.head();
    if (judge_.is_out(now, peer)) return false;
    const wire::Heartbeat& heartbeat = known.heartbeat;
    const bool is_sound = heartbeat.has_state && heartbeat.state == own_.digest();
    return known.has_reported && known.generation == head.generation && known.step == head.step &&
           heartbeat.record == head.record && (is_sound || !known.receives);
}

bool Participation::is_called(TimePoint now, StepIndex step, const PeerKey& peer,
                              const membership::Known& known) const {
    return is_eligible(now, peer, known) && turns_.is_called(peer, known.heartbeat, step);
}

std::vector<PeerKey> Participation::peers_to_call(TimePoint now, StepIndex step) const {
    std::vector<PeerKey> called;
    for (const auto& [peer, known] : links_.known()) {
        if (is_called(now, step, peer, known)) called.push_back(peer);
    }
    return select(std::move(called));
}

std::size_t Participation::count_outside(TimePoint now, StepIndex step,
                                         const Callees& callees) const {
    const auto waits = [&](const auto& entry) {
        return !callees.contains(entry.first) && is_called(now, step, entry.first, entry.second);
    };
    return static_cast<std::size_t>(std::ranges::count_if(links_.known(), waits));
}

/// The peers that are called if there are more than a round can have: in turns over the accounts,
/// so that neither many keys nor many jobs of one user displace others. Peers of one account that
/// train, and those of the last round, come first; no order of keys helps, because it is drawn anew
/// for each step. At most kMaxReducers peers do not train.
std::vector<PeerKey> Participation::select(std::vector<PeerKey> called) const {
    const std::size_t limit = wire::kMaxMembers - 1;  // without ours
    if (called.size() <= limit) return called;
    struct Candidate {
        bool is_idle;  ///< it does not train
        bool is_new;   ///< it was not in the last round
        std::uint64_t draw;
        PeerKey peer;
        auto operator<=>(const Candidate&) const = default;
    };
    std::map<Judge::Account, std::vector<Candidate>> by_account;
    for (const PeerKey& peer : called) {
        Random random = Random{config_.random_seed}.split(voter_.head().step.value());
        std::uint64_t name = 0;
        std::memcpy(&name, peer.bytes.data(), sizeof name);
        by_account[judge_.account_of(peer)].push_back({.is_idle = !trains(peer),
                                                       .is_new = !expected_.contains(peer),
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
        if (called.size() == limit) break;
        if (candidate.is_idle && ++idle > wire::kMaxReducers) continue;
        called.push_back(candidate.peer);
    }
    return called;
}

bool Participation::trains(const PeerKey& peer) const {
    const membership::Known* known = links_.find(peer);
    return known != nullptr && known->role == Role::kTrainer;
}

bool Participation::has_members(TimePoint now) const {
    return std::ranges::any_of(links_.known(), [&](const auto& entry) {
        return is_eligible(now, entry.first, entry.second);
    });
}

bool Participation::are_expected_here(TimePoint now) const {
    return std::ranges::all_of(expected_, [&](const PeerKey& peer) {
        const membership::Known* known = links_.find(peer);
        return peer == self_ || (known != nullptr && is_eligible(now, peer, *known));
    });
}

bool Participation::has_frozen_members(TimePoint now) const {
    return std::ranges::any_of(links_.known(), [&](const auto& entry) {
        return is_eligible(now, entry.first, entry.second) && entry.second.heartbeat.is_frozen;
    });
}

bool Participation::are_most_frozen(TimePoint now) const {
    std::size_t trainers = 0;
    std::size_t frozen = 0;
    for (const auto& [peer, known] : links_.known()) {
        if (known.role != Role::kTrainer || !is_eligible(now, peer, known)) continue;
        if (turns_.of(peer) != TurnKind::kEveryRound) continue;
        ++trainers;
        frozen += known.heartbeat.is_frozen ? 1 : 0;
    }
    return 2 * frozen > trainers;
}

// --- turns ----------------------------------------------------------------------

/// This peer, the members of the last round, and all others that are called or have another turn.
/// Members may still be on their way to the state of the head.
std::vector<FleetMember> Participation::fleet(TimePoint now) const {
    const bool is_reducer = links_.listening_port() != 0;
    std::vector<FleetMember> fleet{{.peer = self_,
                                    .member = {.upload = own_.upload(),
                                               .download = own_.download(),
                                               .contributes = config_.role == Role::kTrainer,
                                               .receives = config_.receives,
                                               .is_reachable = is_reducer},
                                    .samples_per_second = 0}};
    std::vector<PeerKey> peers;
    for (const auto& [peer, known] : links_.known()) {
        const bool is_linked = known.has_reported && known.generation == voter_.head().generation &&
                               !judge_.is_out(now, peer);
        const bool is_out = turns_.of(peer) != TurnKind::kEveryRound;
        const bool is_member = expected_.contains(peer) || is_eligible(now, peer, known);
        if (is_linked && (is_out || is_member)) peers.push_back(peer);
    }
    for (const PeerKey& peer : select(std::move(peers))) {
        const membership::Known& known = *links_.find(peer);
        const double rate = std::min(known.heartbeat.samples_per_second,
                                     static_cast<double>(known.max_samples_per_second));
        const auto positive = [](std::optional<Bandwidth> bandwidth) {
            return bandwidth && bandwidth->value() > 0 ? bandwidth : std::nullopt;
        };
        fleet.push_back({.peer = peer,
                         .member = {.upload = positive(known.heartbeat.upload),
                                    .download = positive(known.heartbeat.download),
                                    .contributes = known.role == Role::kTrainer,
                                    .receives = known.receives,
                                    .is_reachable = known.endpoint.port != 0},
                         .samples_per_second = rate});
    }
    return fleet;
}

void Participation::choose_turns(TimePoint now, const Term& term, StepIndex step, bool is_new,
                                 Outbox& out) {
    if (!std::exchange(has_lost_any_, false) && !is_new) return;
    turns_.begin(term);
    for (const Turns::Change& change : turns_.choose(now, step, fleet(now))) {
        batch_.forget(change.peer);
        out.note(change.why);
        out.send(change.peer, step, change.message);
    }
}

std::set<PeerKey> Participation::without_every_round() const {
    std::set<PeerKey> peers;
    for (const auto& [peer, known] : links_.known()) {
        if (turns_.of(peer) != TurnKind::kEveryRound) peers.insert(peer);
    }
    return peers;
}

// --- how long -------------------------------------------------------------------

Duration Participation::join_limit(const PeerKey& peer, TimePoint called_at) const {
    if (peer == self_) return config_.rules.join_timeout;
    return turns_.join_limit(peer, called_at - head_.computing_since());
}

bool Participation::awaits_any(TimePoint now, StepIndex step, Duration timeout, Outbox& out) {
    return awaits_members(now, step, out) ||
           latecomers_.hold_up(now, voter_.head(), links_, timeout, without_every_round());
}

/// The batch of overlapping trainers may be full as soon as its state is decided, but members
/// finish a micro-batch before they reach that state. So the Call waits for the members of the
/// decided round, at most join_timeout: as long as it would wait for their Joins.
bool Participation::awaits_members(TimePoint now, StepIndex step, Outbox& out) {
    if (!config_.rules.overlaps || !head_.is_live()) return false;
    const Head& head = voter_.head();
    for (const PeerKey& peer : expected_) {
        const membership::Known* known = links_.find(peer);
        const bool may_come = known != nullptr && known->has_reported && known->receives &&
                              known->generation == head.generation &&
                              turns_.of(peer) == TurnKind::kEveryRound && !judge_.is_out(now, peer);
        if (!may_come || (known->step >= head.step && known->heartbeat.has_state)) continue;
        if (now < head_.since() + join_limit(peer, now)) return true;
        leave_waiting(now, step, peer, now - head_.since(),
                      "has not reached the decided state in time", 0, out);
    }
    return false;
}

void Participation::leave_waiting(TimePoint now, StepIndex step, const PeerKey& peer,
                                  Duration waited, const std::string& why, std::size_t callees,
                                  Outbox& out) {
    if (!trains(peer) || !turns_.on_no_join(peer, step, now, waited)) {
        return judge_.exclude(now, peer, why, out,
                              {.time = waited, .members = count_waiting(callees)});
    }
    batch_.forget(peer);
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(waited).count();
    out.note(peer.brief() + " " + why + ", after " + std::to_string(seconds) +
             " s: called again when it holds a micro-batch");
    out.send(peer, step, *turns_.message_for(peer));
}

// --- samples --------------------------------------------------------------------

Samples Participation::allowance(TimePoint now, const PeerKey& peer,
                                 const membership::Known& known) const {
    const TimePoint since = head_.computing_since(peer, voter_.head().step, turns_);
    return head_.limit(now, since, known.max_samples_per_second);
}

std::optional<Participation::Report> Participation::bound(TimePoint now, StepIndex step,
                                                          const PeerKey& peer,
                                                          const membership::Known& known,
                                                          const Report& report) const {
    Report counted = report;
    const TurnKind kind = turns_.of(peer);
    if (kind != TurnKind::kEveryRound) {
        // Only what it holds counts, and only for a round to which it is called.
        if (!turns_.is_called(peer, known.heartbeat, step)) return std::nullopt;
        if (kind != TurnKind::kSomeRounds) counted.samples_per_second = 0;
    }
    counted.samples = std::min(counted.samples, allowance(now, peer, known));
    counted.samples_per_second =
        std::min(counted.samples_per_second, static_cast<double>(known.max_samples_per_second));
    return counted;
}

}  // namespace dedloc::round
