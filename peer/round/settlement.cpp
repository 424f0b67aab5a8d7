// A count begins with the decision and ends when every member has reported or is lost, at the
// deadline, or with the next decision or generation, whichever comes first. Nothing is reported
// without our own state, since there is no digest to compare with: that count is dropped.
#include "peer/round/settlement.hpp"

#include <string>

namespace dedloc::round {

void Settlement::on_decision(TimePoint now, const CommitRecord& record, Outbox& out) {
    if (step_) settle(out);
    generation_ = record.generation;
    step_ = record.step.next();
    states_.clear();
    waiting_.clear();
    for (const CommitLine& line : record.members) waiting_.insert(line.peer);
    deadline_ = now + config_.rules.join_timeout;
}

void Settlement::on_report(const PeerKey& from, StepIndex step, const Digest& state) {
    if (!step_ || step != *step_) return;
    // Our own state counts even if we were not a member of the round.
    if (waiting_.erase(from) != 0 || from == self_) states_.emplace(from, state);
}

TimePoint Settlement::next_deadline() const {
    return step_ && states_.contains(self_) ? deadline_ : kNever;
}

void Settlement::advance(TimePoint now, Outbox& out) {
    if (!step_ || !states_.contains(self_)) return;
    if (waiting_.empty() || now >= deadline_) settle(out);
}

void Settlement::restart(StepIndex from, Outbox& out) {
    if (step_ && *step_ <= from) settle(out);
    step_.reset();
}

void Settlement::settle(Outbox& out) {
    const auto own = states_.find(self_);
    if (own != states_.end()) {
        action::Settled settled{.generation = generation_, .step = *step_, .digest = own->second};
        for (const auto& [peer, state] : states_) {
            ++settled.reported;
            if (state == own->second) {
                ++settled.equal;
            } else {
                out.note(peer.brief() + " reached a different state at step " +
                         std::to_string(step_->value()));
            }
        }
        out.act(settled);
    }
    step_.reset();
}

}  // namespace dedloc::round
