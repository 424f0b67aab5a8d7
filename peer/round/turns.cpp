// Records hold what was measured of each peer and its turn. choose() first judges the last choice,
// then gives peers that are due the turn of every round, then compares the predicted speed of the
// present turns with that of the best ones. Between the two limits of the hysteresis nothing
// changes.
#include "peer/round/turns.hpp"

#include <algorithm>
#include <cmath>

#include "peer/planning/request.hpp"

namespace dedloc::round {
namespace {

using planning::Turn;

constexpr std::size_t kMaxRecords = 4'096;
/// Decay of the longest wait per round. Waits vary from nothing to a whole micro-batch.
constexpr double kDecay = 0.95;
/// Steps in which a peer that is asked again must join.
constexpr std::uint64_t kAskedSteps = 8;
/// Latency of one message, as the plan maker assumes it.
constexpr Duration kTurnLatency = std::chrono::milliseconds{20};
constexpr std::uint32_t kMaxJoins = 1'000;
/// Trainers that one choice tries to take back.
constexpr std::size_t kMaxTakenBack = 8;

double bounded(double samples_per_second) {
    return std::clamp(samples_per_second, 0.0, static_cast<double>(wire::kMaxSamplesPerSecond));
}

bool is_every(const Turn& turn) {
    return turn.kind == TurnKind::kEveryRound;
}

std::string name_of(const Turn& turn) {
    switch (turn.kind) {
        case TurnKind::kEveryRound:
            return "is in every round";
        case TurnKind::kSomeRounds:
            return "is called to one round in " + std::to_string(turn.every);
        case TurnKind::kWhenDone:
            return "is called when it holds a micro-batch";
        case TurnKind::kReduceOnly:
            return "only reduces";
        case TurnKind::kRest:
            return "rests";
    }
    return {};
}

}  // namespace

void Turns::begin(const Term& term) {
    if (term_ == term) return;
    term_ = term;
    trial_.reset();
    for (auto& [peer, record] : records_) {
        record.turn = {};
        record.is_asked = false;
        record.last_join.reset();
    }
}

const Turns::Record* Turns::find(const PeerKey& peer) const {
    const auto found = records_.find(peer);
    return found == records_.end() ? nullptr : &found->second;
}

Turns::Record& Turns::record(const PeerKey& peer) {
    if (records_.size() >= kMaxRecords && !records_.contains(peer)) {
        records_.erase(std::ranges::min_element(
            records_, {}, [](const auto& entry) { return entry.second.last_called; }));
    }
    return records_[peer];
}

TurnKind Turns::of(const PeerKey& peer) const {
    const Record* record = find(peer);
    return record == nullptr ? TurnKind::kEveryRound : record->turn.kind;
}

wire::TurnChange Turns::message_for(const Record& record) const {
    const bool are_some = record.turn.kind == TurnKind::kSomeRounds;
    return {.term = term_,
            .kind = record.turn.kind,
            .every = are_some ? record.turn.every : 1,
            .speed_with = record.speed_with,
            .speed_now = record.speed_now};
}

std::optional<wire::TurnChange> Turns::message_for(const PeerKey& peer) const {
    const Record* record = find(peer);
    if (record == nullptr || is_every(record->turn)) return std::nullopt;
    return message_for(*record);
}

bool Turns::is_called(const PeerKey& peer, const wire::Heartbeat& heartbeat, StepIndex step) const {
    const Record* record = find(peer);
    if (record == nullptr) return true;
    switch (record->turn.kind) {
        case TurnKind::kEveryRound:
        case TurnKind::kReduceOnly:
            return true;
        case TurnKind::kSomeRounds:
            // What it has computed by the end of the run would count in no round.
            return step.value() >= record->last_called.value() + record->turn.every ||
                   step.next() >= rules_.last_step;
        case TurnKind::kWhenDone:
            return heartbeat.is_frozen && heartbeat.samples > Samples{0};
        case TurnKind::kRest:
            break;
    }
    return false;
}

/// A trainer that is not measured may have computed its first micro-batch for all that time: it is
/// waited for as long again. One that holds a micro-batch, or computes none, has only to answer.
Duration Turns::join_limit(const PeerKey& peer, Duration computing) const {
    const Duration min = 2 * rules_.failure_timeout;
    const Record* record = find(peer);
    if (of(peer) == TurnKind::kWhenDone || of(peer) == TurnKind::kReduceOnly) {
        return std::min(rules_.heartbeat * 3 / 4, rules_.join_timeout);
    }
    if (record != nullptr && (!is_every(record->turn) || record->is_asked)) {
        return std::min(min, rules_.join_timeout);
    }
    Duration limit = computing;
    if (record != nullptr && record->joins > 0) {
        const std::chrono::duration<double> twice{2 * record->micro_batch};
        limit = std::chrono::duration_cast<Duration>(twice);
    }
    return std::min(std::max(limit, min), rules_.join_timeout);
}

bool Turns::may_hold_old(const PeerKey& peer, StepIndex step) const {
    const Record* record = find(peer);
    if (record == nullptr || !record->was_out) return false;
    return !is_every(record->turn) ||
           step.value() <= record->since.value() + wire::kMaxStaleSteps + 1;
}

TimePoint Turns::unpaid_since(const PeerKey& peer, TimePoint since) const {
    const Record* record = find(peer);
    return record != nullptr && record->is_paid ? std::max(record->paid_at, since) : since;
}

bool Turns::on_join(const PeerKey& peer, StepIndex step, TimePoint called_at, Duration wait,
                    Samples samples, Duration computing) {
    Record& record = this->record(peer);
    const bool holds = record.turn.kind == TurnKind::kWhenDone;
    const bool is_paid_again = holds && record.is_paid && record.paid_at >= record.since_time;
    if (is_paid_again) {
        // From one Join to the next it has computed one micro-batch, and waited for the Call.
        const double cycle = seconds_of(called_at - record.paid_at);
        record.micro_batch = std::min(record.micro_batch, cycle);
    } else if (is_every(record.turn)) {
        const double time = seconds_of(computing + wait);
        const double rate = time > 0 ? static_cast<double>(samples.value()) / time : 0;
        record.last_join = Joined{.wait = seconds_of(wait), .rate = rate};
    }
    record.gap = step.value() - std::min(step, record.last_called).value();
    if (!is_every(record.turn)) record.joins = std::min(record.joins + 1, kMaxJoins);
    const bool is_again = step == record.last_called && record.idle > 0;
    if ((holds || is_every(record.turn)) && !is_again) ++record.idle;
    record.last_called = step;
    record.misses = 0;
    if (samples == Samples{0}) return !holds || record.idle < 2 * kMaxIdle;
    record.idle = 0;
    record.paid_at = called_at;
    record.is_paid = true;
    return true;
}

void Turns::on_decision(Samples samples, Duration time, bool is_disturbed) {
    links_.on_decision();
    for (auto& [peer, record] : records_) {
        const auto join = std::exchange(record.last_join, std::nullopt);
        // The first measurement of a trainer counts until there is a better one.
        const bool is_first = record.joins == 0 && !record.is_asked;
        if (!join || (is_disturbed && !is_first)) continue;
        if (std::exchange(record.is_doubtful, is_disturbed)) {
            record.micro_batch = record.measured_rate = 0;
        }
        record.joins = std::min(record.joins + 1, kMaxJoins);
        record.micro_batch = std::max(join->wait, kDecay * record.micro_batch);
        const double before = record.measured_rate;
        record.measured_rate = before > 0 ? (3 * before + join->rate) / 4 : join->rate;
    }
    trial_.on_decision(static_cast<double>(samples.value()), seconds_of(time), is_disturbed);
    if (is_disturbed) return;
    const double before = round_seconds_ > 0 ? round_seconds_ : seconds_of(time);
    round_seconds_ = (3 * before + seconds_of(time)) / 4;
}

bool Turns::on_no_join(const PeerKey& peer, StepIndex step, TimePoint now, Duration wait) {
    if (!rules_.chooses_trainers) return false;
    Record& record = this->record(peer);
    if (!is_every(record.turn) || record.misses > 0) return false;
    ++record.misses;
    constexpr double kLonger = 1.25;
    record.micro_batch = std::max(record.micro_batch, kLonger * seconds_of(wait));
    move(record, {TurnKind::kWhenDone, 1}, now, step);
    if (record.former_round <= 0) record.former_round = seconds_of(wait);
    record.speed_with = record.speed_now = 0;
    return true;
}

void Turns::shift(Duration pause) {
    for (auto& [peer, record] : records_) {
        record.paid_at += pause;
        record.since_time += pause;
    }
}

/// Whether more must be known of a trainer that is not in every round. If it holds its
/// micro-batches and joins fewer rounds than there are, they are long.
bool Turns::is_worth_asking(const Record& record) {
    if (is_every(record.turn) || record.idle >= kMaxIdle) return false;
    return record.turn.kind != TurnKind::kWhenDone || record.gap <= 1;
}

/// Rounds without a trainer may be much longer than those with it, so the time counts as well.
bool Turns::is_long_out(const Record& record, TimePoint now, StepIndex step) {
    if (step.value() >= record.since.value() + record.ask_after) return true;
    const double max = static_cast<double>(record.ask_after) * record.former_round;
    return max > 0 && seconds_of(now - record.since_time) >= max;
}

/// Trainers that only reduce compute a micro-batch again, for which no round waits. Others that
/// have rested for long enough are in every round until they have joined one; those that do not
/// join are sent back. Returns those that have just been measured.
std::set<PeerKey> Turns::ask_again(TimePoint now, StepIndex step, std::vector<Change>& changes) {
    std::set<PeerKey> measured;
    for (auto& [peer, record] : records_) {
        const auto since = [&](StepIndex begin) {
            return step.value() - std::min(step, begin).value();
        };
        if (record.is_asked && record.joins > 0) {
            record.is_asked = false;
            measured.insert(peer);
        } else if (record.is_asked && since(record.since) >= kAskedSteps) {
            changes.push_back(change(peer, record, record.former, now, step));
        } else if (is_worth_asking(record) && is_long_out(record, now, step)) {
            record.former = record.turn;
            record.ask_after = std::min(2 * record.ask_after, kMaxAsk);
            const bool only_reduces = record.turn.kind == TurnKind::kReduceOnly;
            const Turn turn{only_reduces ? TurnKind::kWhenDone : TurnKind::kEveryRound, 1};
            changes.push_back(change(peer, record, turn, now, step));
            record.is_asked = !only_reduces;
            record.joins = record.misses = 0;
            record.micro_batch = 0;
            links_.forget(peer);
        }
    }
    return measured;
}

/// Compares what the last choice has brought with what it was to bring.
void Turns::judge(TimePoint now, StepIndex step, const std::vector<FleetMember>& fleet,
                  std::vector<Change>& changes) {
    if (!trial_.is_under_way()) return;
    const planning::FleetRequest request = request_for(fleet);
    std::vector<Turn> turns = turns_of(fleet);
    const auto present = planning::predict(request, turns);
    for (std::size_t k = 0; k < fleet.size(); ++k) {
        const auto former = trial_.former().find(fleet[k].peer);
        if (former != trial_.former().end()) turns[k] = former->second;
    }
    const auto before = planning::predict(request, turns);
    if (!present || !before) return;
    const auto verdict =
        trial_.judge(step, before->samples_per_second, present->samples_per_second);
    if (verdict != SpeedTrial::Verdict::kTakeBack) return;
    for (const auto& [peer, turn] : trial_.former()) {
        Record& changed = record(peer);
        if (changed.turn == turn) continue;
        changes.push_back(change(peer, changed, turn, now, step));
        changes.back().why += ": the swarm was not faster without it";
    }
}

/// The trainers that were in every round have gone: those that are left fill the batch. A few
/// trainers that hold their micro-batches need not be in every round for that.
void Turns::take_all_back(TimePoint now, StepIndex step, bool are_some_left,
                          std::vector<Change>& changes) {
    for (auto& [peer, record] : records_) {
        const bool stays = are_some_left && record.turn.kind == TurnKind::kWhenDone;
        if (!is_every(record.turn) && !stays) {
            changes.push_back(change(peer, record, {}, now, step));
        }
    }
}

planning::FleetRequest Turns::request_for(const std::vector<FleetMember>& fleet) const {
    const planning::WireSize codec = planning::on_the_wire(rules_.codec);
    planning::FleetRequest request{.round = {.members = {},
                                             .elements = rules_.elements,
                                             .contribution = codec,
                                             .average = codec,
                                             .latency = kTurnLatency},
                                   .samples_per_second = {},
                                   .micro_batch_seconds = {},
                                   .target_batch = rules_.target_batch.value(),
                                   .overlaps = rules_.overlaps};
    for (const FleetMember& one : fleet) {
        request.round.members.push_back(one.member);
        const Record* record = find(one.peer);
        if (links_.may_leave(one.peer)) {
            planning::Member& member = request.round.members.back();
            member.upload = links_.upload_of(one.peer, member.upload);
            member.download = links_.download_of(one.peer, member.download);
        }
        const bool is_measured = record != nullptr && record->joins > 0 && !record->is_asked;
        const bool is_known = is_measured || (record != nullptr && !is_every(record->turn));
        const bool is_idle = record != nullptr && record->idle >= kMaxIdle;
        double rate = is_known && !is_idle ? one.samples_per_second : 0;
        if (is_known && record->measured_rate > 0) rate = std::min(rate, 2 * record->measured_rate);
        request.samples_per_second.push_back(rate);
        request.micro_batch_seconds.push_back(is_known ? record->micro_batch : 0);
    }
    request.round.chunk_elements = planning::chunk_elements_for(request.round);
    return request;
}

std::vector<Turn> Turns::turns_of(const std::vector<FleetMember>& fleet) const {
    std::vector<Turn> turns;
    for (const FleetMember& one : fleet) {
        const Record* record = find(one.peer);
        turns.push_back(record == nullptr ? Turn{} : record->turn);
    }
    return turns;
}

/// Puts trainers back into every round with which the swarm is no slower.
void Turns::take_back(const planning::FleetRequest& request, std::vector<Turn>& turns,
                      planning::Prediction& now) const {
    std::size_t tried = 0;
    for (std::size_t k = 0; k < turns.size(); ++k) {
        Turn& turn = turns[k];
        const bool is_unknown = !(request.samples_per_second[k] > 0);
        if (is_every(turn) || is_unknown || tried >= kMaxTakenBack) continue;
        ++tried;
        const Turn before = std::exchange(turn, Turn{});
        const auto with = planning::predict(request, turns);
        if (with && with->samples_per_second >= now.samples_per_second) {
            now = *with;
        } else {
            turn = before;
        }
    }
}

/// A trainer whose micro-batches take longer than samples may be old computes in vain.
void Turns::retire_late(const std::vector<FleetMember>& fleet, std::vector<Turn>& turns,
                        double step_seconds) const {
    for (std::size_t k = 0; k < turns.size(); ++k) {
        const Record* record = find(fleet[k].peer);
        const bool is_late = record != nullptr && turns[k].kind == TurnKind::kWhenDone &&
                             record->micro_batch > wire::kMaxStaleSteps * step_seconds;
        if (!is_late) continue;
        const bool reduces = fleet[k].member.is_reachable;
        turns[k] = {reduces ? TurnKind::kReduceOnly : TurnKind::kRest, 1};
    }
}

/// A trainer that leaves every round after a long time in it is asked again soon.
void Turns::move(Record& record, const Turn& turn, TimePoint now, StepIndex step) {
    if (is_every(record.turn) && !is_every(turn)) {
        const std::uint64_t steps = step.value() - std::min(step, record.since).value();
        if (!record.is_asked && steps > 4 * record.ask_after) record.ask_after = kAsk;
        record.was_out = true;
        record.former_round = round_seconds_;
    }
    record.turn = turn;
    record.since = step;
    record.since_time = now;
    record.is_asked = false;
}

Turns::Change Turns::change(const PeerKey& peer, Record& record, const Turn& turn, TimePoint now,
                            StepIndex step) {
    move(record, turn, now, step);
    const auto text = [](double speed) {
        const auto tenths = static_cast<std::uint64_t>(10 * speed);
        return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
    };
    std::string why = peer.brief() + " " + name_of(turn);
    if (!is_every(turn) && record.speed_now > 0) {
        why += ": the swarm computes " + text(record.speed_now) +
               " samples/s, with it in every round " + text(record.speed_with);
    }
    return {.peer = peer, .message = message_for(record), .why = std::move(why)};
}

/// The present turns, but the best ones for these peers, if that makes the swarm no slower.
std::vector<Turn> Turns::turns_back(const planning::FleetRequest& request,
                                    const std::vector<FleetMember>& fleet,
                                    const std::vector<Turn>& best,
                                    const std::set<PeerKey>& peers) const {
    const std::vector<Turn> old = turns_of(fleet);
    std::vector<Turn> turns = old;
    for (std::size_t k = 0; k < fleet.size(); ++k) {
        if (peers.contains(fleet[k].peer)) turns[k] = best[k];
    }
    if (turns == old) return old;
    const auto before = planning::predict(request, old);
    const auto after = planning::predict(request, turns);
    const bool is_slower =
        !before || !after || after->samples_per_second < before->samples_per_second;
    return is_slower ? old : turns;
}

/// Gives trainers their new turns. A trial begins, unless all of them only go back to what they did
/// before they were asked again.
void Turns::apply(TimePoint now, StepIndex step, const std::vector<FleetMember>& fleet,
                  const std::vector<Turn>& turns, const std::set<PeerKey>& returning,
                  std::vector<Change>& changes) {
    SpeedTrial::Turns former;
    for (std::size_t k = 0; k < fleet.size(); ++k) {
        const PeerKey& peer = fleet[k].peer;
        const Record* known = find(peer);
        const Turn old = known == nullptr ? Turn{} : known->turn;
        const bool is_same = turns[k].kind == old.kind &&
                             (turns[k].kind != TurnKind::kSomeRounds || turns[k] == old);
        if (is_same || !fleet[k].member.contributes) continue;
        if (!is_every(turns[k]) && !returning.contains(peer)) former.emplace(peer, old);
        changes.push_back(change(peer, record(peer), turns[k], now, step));
    }
    if (!former.empty()) trial_.begin(std::move(former));
}

std::vector<Turns::Change> Turns::choose(TimePoint now, StepIndex step,
                                         const std::vector<FleetMember>& fleet) {
    std::vector<Change> changes;
    const bool is_soon = step > chosen_at_ && step.value() < chosen_at_.value() + kRarely;
    if (!rules_.chooses_trainers) return changes;
    send_idle_away(now, step, fleet, changes);
    if (fleet.size() > kMesh && is_soon) return changes;
    chosen_at_ = step;
    judge(now, step, fleet, changes);
    const std::set<PeerKey> measured = ask_again(now, step, changes);
    note_late(now, step);
    const planning::FleetRequest request = request_for(fleet);
    std::vector<Turn> turns = turns_of(fleet);
    const std::vector<Turn> old = turns;
    auto present = planning::predict(request, turns);
    trial_.expect(present ? present->samples_per_second : 0);
    std::size_t trainers = 0;
    std::size_t trainers_in = 0;
    for (std::size_t k = 0; k < fleet.size(); ++k) {
        if (!fleet[k].member.contributes) continue;
        ++trainers;
        trainers_in += is_every(turns[k]) ? 1 : 0;
    }
    if (trainers_in == 0 || trainers < kMinTrainers) {
        take_all_back(now, step, trainers_in > 0, changes);
        return changes;
    }
    if (!present) return changes;
    const bool are_all = std::ranges::all_of(turns, is_every);
    const double idle = present->round_seconds + present->wait_seconds;
    // What rounds and waits take is all that a choice can gain.
    if (are_all && idle * kGain < (kGain - 1) * present->step_seconds) return changes;
    const auto best = planning::choose_turns(request);
    if (!best) return changes;
    if (best->chosen.samples_per_second >= kGain * present->samples_per_second) {
        turns = trial_.may_choose(step) ? best->turns
                                        : turns_back(request, fleet, best->turns, measured);
    } else if (!trial_.is_under_way()) {
        take_back(request, turns, *present);
    }
    retire_late(fleet, turns, present->step_seconds);
    keep_idle_away(fleet, old, turns);
    if (turns == old) return changes;
    const auto after = planning::predict(request, turns);
    if (!after) return changes;
    for (std::size_t k = 0; k < fleet.size(); ++k) {
        if (turns[k] == old[k]) continue;
        Record& changed = record(fleet[k].peer);
        changed.speed_with = bounded(best->all.samples_per_second);
        changed.speed_now = bounded(after->samples_per_second);
    }
    apply(now, step, fleet, turns, measured, changes);
    trial_.expect(after->samples_per_second);
    return changes;
}

}  // namespace dedloc::round
