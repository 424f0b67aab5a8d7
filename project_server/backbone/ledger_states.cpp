#include "project_server/backbone/ledger_states.hpp"

#include <algorithm>
#include <variant>

namespace dedloc::backbone {

void LedgerStates::take(const LedgerRecord& record) {
    const std::lock_guard lock{mutex_};
    if (const auto* const commit = std::get_if<LedgerCommit>(&record)) {
        const CommitRecord& decided = commit->decision.record;
        // The first commit of a generation names the generation's first state again.
        if (states_.empty() || states_.back().step < decided.step) {
            states_.push_back({decided.step, decided.previous_state});
        }
        last_ = decided.step.next();
    } else if (const auto* const last = std::get_if<StateCertificate>(&record)) {
        if (states_.empty() || states_.back().step < last->step) {
            states_.push_back({last->step, last->state});
        }
    } else if (const auto* const begun = std::get_if<SignedGeneration>(&record)) {
        const GenerationRecord& first = begun->record;
        const auto from = std::ranges::lower_bound(states_, first.step, {}, &State::step);
        void_.insert(void_.end(), from, states_.end());
        states_.erase(from, states_.end());
        states_.push_back({first.step, first.state});
        last_ = first.step;
    }
}

bool LedgerStates::was_void(const formats::CheckpointHead& checkpoint) const {
    const std::lock_guard lock{mutex_};
    return std::ranges::any_of(void_, [&](const State& state) {
        return state.step == checkpoint.step && state.digest == checkpoint.digest;
    });
}

Standing LedgerStates::judge(const formats::CheckpointHead& checkpoint) const {
    const std::lock_guard lock{mutex_};
    const auto found = std::ranges::lower_bound(states_, checkpoint.step, {}, &State::step);
    if (found != states_.end() && found->step == checkpoint.step) {
        return found->digest == checkpoint.digest ? Standing::kProven : Standing::kUnproven;
    }
    return checkpoint.step == last_ ? Standing::kLast : Standing::kUnproven;
}

}  // namespace dedloc::backbone
