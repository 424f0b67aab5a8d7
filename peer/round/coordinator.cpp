#include "peer/round/coordinator.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "peer/base/check.hpp"
#include "peer/planning/shares.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::round {

bool Coordinator::is_eligible(const membership::Known& known) const {
    return known.heartbeat.has_state && known.step == own_.step() &&
           known.heartbeat.digest == own_.digest();
}

TimePoint Coordinator::next_deadline() const {
    const bool is_waiting = settling_ && settling_->digests.contains(self_);
    return std::min(deadline_, is_waiting ? settling_->deadline : kNever);
}

void Coordinator::advance(TimePoint now, Outbox& out) {
    if (is_finished_) return;
    if (now >= deadline_) time_out(now, out);
    if (phase_ == Phase::kCalled) {
        const bool all_joined = std::all_of(
            seats_.begin(), seats_.end(), [](const auto& s) { return s.second.join.has_value(); });
        if (all_joined) plan(now, out);
    } else if (phase_ == Phase::kPlanned && is_replan_due_) {
        plan(now, out);
    }
    settle(now, out);
    if (phase_ != Phase::kGathering || settling_ || own_.phase() != Member::Phase::kWorking) return;
    if (own_.step() >= config_.rules.last_step) {
        is_finished_ = true;
        for (const auto& [peer, known] : links_.known()) {
            out.send(peer, own_.step(), wire::Finished{own_.digest()});
        }
        out.send(self_, own_.step(), wire::Finished{own_.digest()});
        return;
    }
    Samples samples = own_.samples();
    for (const auto& [peer, known] : links_.known()) {
        if (is_eligible(known)) samples += known.heartbeat.samples;
    }
    if (samples >= config_.rules.target_batch) call(now, out);
}

// --- call --------------------------------------------------------------------

void Coordinator::call(TimePoint now, Outbox& out) {
    phase_ = Phase::kCalled;
    step_ = own_.step();
    attempt_ = 0;
    is_replan_due_ = false;
    deadline_ = now + config_.rules.join_timeout;
    seats_.clear();
    seats_.try_emplace(self_);
    for (const auto& [peer, known] : links_.known()) {
        if (is_eligible(known) && seats_.size() < wire::kMaxMembers) seats_.try_emplace(peer);
    }
    for (const auto& [peer, seat] : seats_) out.send(peer, step_, wire::Call{attempt_});
}

void Coordinator::joined(const PeerKey& from, StepIndex step, const wire::Join& join, Outbox& out) {
    const auto seat = seats_.find(from);
    if (phase_ != Phase::kCalled || step != step_ || seat == seats_.end()) return;
    if (join.digest != own_.digest()) {
        out.note(from.brief() + " joined with another state: left out");
        seats_.erase(seat);
        return;
    }
    if (!join.is_finite) out.note(from.brief() + " had a gradient that is not finite");
    seat->second.join = join;
}

void Coordinator::lost(const PeerKey& peer, Outbox& out) {
    if (settling_) settling_->waiting.erase(peer);
    if (phase_ == Phase::kGathering || seats_.erase(peer) == 0) return;
    out.note(peer.brief() + " was lost in the round of step " + std::to_string(step_.value()));
    is_replan_due_ = phase_ == Phase::kPlanned;
}

void Coordinator::time_out(TimePoint now, Outbox& out) {
    deadline_ = kNever;
    if (phase_ == Phase::kCalled) {
        std::erase_if(seats_, [](const auto& entry) { return !entry.second.join; });
        if (!seats_.contains(self_)) return cancel("the coordinator itself is late", out);
        return plan(now, out);
    }
    // Planned, and somebody is not ready. If others are, it is them who are late; if nobody is, the
    // part of one reducer is missing everywhere and the whole round is off.
    const auto is_late = [](const auto& entry) { return !entry.second.average; };
    const auto late = std::count_if(seats_.begin(), seats_.end(), is_late);
    if (static_cast<std::size_t>(late) == seats_.size() || is_late(*seats_.find(self_))) {
        return cancel("nobody could finish it in time", out);
    }
    out.note(std::to_string(late) + " members are late: left out");
    std::erase_if(seats_, is_late);
    plan(now, out);
}

void Coordinator::cancel(const std::string& why, Outbox& out) {
    out.note("the round of step " + std::to_string(step_.value()) + " is off: " + why);
    for (const auto& [peer, known] : links_.known()) {
        out.send(peer, step_, wire::Cancel{attempt_});
    }
    out.send(self_, step_, wire::Cancel{attempt_});
    phase_ = Phase::kGathering;
    deadline_ = kNever;
    is_replan_due_ = false;
    seats_.clear();
}

// --- plan --------------------------------------------------------------------

void Coordinator::plan(TimePoint now, Outbox& out) {
    is_replan_due_ = false;
    wire::Plan plan{.attempt = ++attempt_, .members = {}, .boundaries = {}};
    std::vector<planning::Reducer> reducers;
    Samples samples;
    for (auto& [peer, seat] : seats_) {
        seat.average.reset();
        samples += seat.join->samples;
        const membership::Known* known = links_.find(peer);
        DEDLOC_CHECK(known != nullptr || peer == self_, "a seat is a known peer", peer.brief());
        const Endpoint endpoint =
            known != nullptr ? known->endpoint : Endpoint{"", config_.listening_port};
        const double upload = known != nullptr ? known->heartbeat.upload_bytes_per_second
                                               : config_.upload_bytes_per_second;
        plan.members.push_back({.peer = peer, .endpoint = endpoint, .samples = seat.join->samples});
        reducers.push_back({.is_reachable = endpoint.port != 0, .upload_bytes_per_second = upload});
    }
    if (samples == Samples{0}) return cancel("nobody has samples", out);
    phase_ = Phase::kPlanned;
    deadline_ = now + config_.rules.round_timeout;
    plan.boundaries = planning::part_boundaries(config_.rules.elements, reducers);
    for (const auto& [peer, seat] : seats_) out.send(peer, step_, plan);
}

// --- commit ------------------------------------------------------------------

CommitRecord Coordinator::record() const {
    CommitRecord record{.step = step_,
                        .attempt = attempt_,
                        .members = {},
                        .average = *seats_.at(self_).average,
                        .previous_state = own_.digest(),
                        .scalars = config_.scalars_of(step_)};
    for (const auto& [peer, seat] : seats_) {
        record.members.push_back(
            {.peer = peer, .samples = seat.join->samples, .loss_sum = seat.join->loss_sum});
    }
    return record;
}

std::optional<CommitRecord> Coordinator::ready(TimePoint now, const PeerKey& from, StepIndex step,
                                               const wire::Ready& ready, Outbox& out) {
    const auto seat = seats_.find(from);
    if (phase_ != Phase::kPlanned || step != step_ || ready.attempt != attempt_ ||
        seat == seats_.end() || is_replan_due_) {
        return {};
    }
    seat->second.average = ready.average;
    const bool all_ready = std::all_of(seats_.begin(), seats_.end(),
                                       [](const auto& s) { return s.second.average.has_value(); });
    if (!all_ready) return {};
    const Digest own = *seats_.at(self_).average;
    const auto removed =
        std::erase_if(seats_, [&](const auto& s) { return s.second.average != own; });
    if (removed != 0) {
        out.note(std::to_string(removed) + " members have another average: left out");
        plan(now, out);
        return {};
    }
    const CommitRecord commit = record();
    settling_ = Settling{.step = step_.next(),
                         .waiting = {},
                         .digests = {},
                         .deadline = now + config_.rules.join_timeout};
    for (const auto& [peer, unused] : seats_) settling_->waiting.insert(peer);
    phase_ = Phase::kGathering;
    deadline_ = kNever;
    seats_.clear();
    return commit;
}

void Coordinator::reported(const PeerKey& from, StepIndex step, const Digest& digest, Outbox&) {
    if (!settling_ || step != settling_->step || settling_->waiting.erase(from) == 0) return;
    settling_->digests.emplace(from, digest);
}

void Coordinator::settle(TimePoint now, Outbox& out) {
    if (!settling_ || !settling_->digests.contains(self_)) return;
    if (!settling_->waiting.empty() && now < settling_->deadline) return;
    const Digest own = settling_->digests.at(self_);
    action::Settled settled{.step = settling_->step, .digest = own};
    for (const auto& [peer, digest] : settling_->digests) {
        ++settled.reported;
        if (digest == own) {
            ++settled.equal;
        } else {
            out.note(peer.brief() + " reached another state at step " +
                     std::to_string(settling_->step.value()));
        }
    }
    out.act(settled);
    settling_.reset();
}

void Coordinator::check_invariants() const {
    DEDLOC_CHECK(phase_ == Phase::kGathering || seats_.contains(self_),
                 "the coordinator sits in its own round", step_.value());
    DEDLOC_CHECK(phase_ == Phase::kGathering || !own_.has_state() || own_.step() == step_,
                 "a round is about the coordinator's state", step_.value());
}

}  // namespace dedloc::round
