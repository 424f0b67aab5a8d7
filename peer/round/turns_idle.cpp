// Trainers that are called and bring no samples, or have long not been called.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "peer/round/turns.hpp"

namespace dedloc::round {

/// Trainers that take seats and bring nothing. Those that only reduce are in another turn.
void Turns::send_idle_away(TimePoint now, StepIndex step, const std::vector<FleetMember>& fleet,
                           std::vector<Change>& changes) {
    for (const FleetMember& one : fleet) {
        const Record* const known = find(one.peer);
        const bool is_idle = known != nullptr && known->idle >= kMaxIdle &&
                             known->turn.kind == TurnKind::kEveryRound;
        // The coordinator sits in all rounds that it leads.
        if (!is_idle || !one.member.contributes || one.peer == term_.coordinator) continue;
        Record& idle = record(one.peer);
        idle.speed_with = idle.speed_now = 0;
        changes.push_back(change(one.peer, idle, {TurnKind::kWhenDone, 1}, now, step));
        changes.back().why +=
            ": it has joined " + std::to_string(idle.idle) + " rounds in a row without samples";
    }
}

/// What they say of their speed does not bring them back, but samples do.
void Turns::keep_idle_away(const std::vector<FleetMember>& fleet,
                           const std::vector<planning::Turn>& old,
                           std::vector<planning::Turn>& turns) const {
    for (std::size_t k = 0; k < turns.size(); ++k) {
        const Record* const record = find(fleet[k].peer);
        if (record != nullptr && record->idle >= kMaxIdle && old[k].kind != TurnKind::kEveryRound)
            turns[k] = old[k];
    }
}

/// A trainer that holds its micro-batches and has not joined for longer than one was believed to
/// take needs longer.
void Turns::note_late(TimePoint now, StepIndex step) {
    for (auto& [peer, record] : records_) {
        if (record.turn.kind != TurnKind::kWhenDone || record.idle >= kMaxIdle) continue;
        const StepIndex last = std::max(record.since, record.last_called);
        if (step.value() <= last.value() + wire::kMaxStaleSteps) continue;
        const TimePoint from =
            std::max(record.since_time, record.is_paid ? record.paid_at : record.since_time);
        record.micro_batch = std::max(record.micro_batch, seconds_of(now - from));
    }
}

}  // namespace dedloc::round
