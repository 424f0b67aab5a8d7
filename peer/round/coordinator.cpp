// The handlers and the transitions. Handlers note facts, and repeat messages that a peer lacks;
// advance(), which follows every event, first meets the deadlines of the phase, then goes on to the
// next one if it can. coordinator_calls.cpp gathers and calls, coordinator_joins.cpp takes Joins
// and complaints, coordinator_plans.cpp plans, amends and sends plans, coordinator_deadlines.cpp
// says which members are late, coordinator_proposals.cpp proposes and counts votes.
#include "peer/round/coordinator.hpp"

#include <algorithm>
#include <utility>

#include "peer/base/check.hpp"

namespace dedloc::round {

// --- messages ----------------------------------------------------------------

bool Coordinator::is_about_us(StepIndex step, const Term& term) const {
    return election_.is_leading() && step == step_ && term == term_;
}

void Coordinator::on_head(TimePoint now, bool is_live, const CommitRecord* last) {
    const bool is_ours = election_.is_leading() && is_live && head_.is_live();
    if (is_ours && last != nullptr) participation_.on_decision(now, *last, now - published_at_);
    participation_.on_head(last);
    head_.on_head(now, is_live);
    batch_.begin(voter_.head().step);
}

void Coordinator::on_generation() {
    end_round();
    term_ = {};
    seen_.term = {};  // terms, and so attempts, begin anew
}

void Coordinator::set_paused(TimePoint now, bool is_paused) {
    participation_.disturb();
    if (is_paused) return head_.on_pause(now);
    participation_.on_resume(head_.on_resume(now));
}

void Coordinator::on_reduced(const PeerKey& from, StepIndex step, const wire::Reduced& reduced) {
    auto* const round = in<PlannedRound>();
    if (!is_about_us(step, reduced.term) || round == nullptr) return;
    if (reduced.attempt != attempt_) return;
    round->attempt.reduced.insert(from);
    round->delivery.holders.insert(from);
}

void Coordinator::on_ready(TimePoint now, const PeerKey& from, StepIndex step,
                           const wire::Ready& ready) {
    auto* const round = in<PlannedRound>();
    if (!is_about_us(step, ready.term) || round == nullptr) return;
    if (ready.attempt != attempt_ || !round->callees.contains(from)) return;
    round->delivery.holders.insert(from);
    round->attempt.ready[from] = ready.average;
    round->attempt.ready_at[from] = now;
    round->attempt.reduced.insert(from);
}

void Coordinator::on_link_lost(TimePoint now, const PeerKey& peer, Outbox& out) {
    batch_.forget(peer);
    Callees* const callees = callees_of(phase_);
    const bool is_called = callees != nullptr && callees->contains(peer);
    participation_.on_link_lost(peer, is_called);
    if (!is_called || callees->at(peer).is_lost) return;
    Callee& callee = callees->at(peer);
    out.note(peer.brief() + " was lost in the round of step " + std::to_string(step_.value()));
    const auto hung_up_since = [&](TimePoint since) {
        return HungUp{.peer = peer,
                      .account = Exclusions::account_of(peer, callee.user),
                      .waited = now - since};
    };
    if (auto* const called = in<CalledRound>()) {
        called->hung_up.push_back(hung_up_since(called->called_at));
        called->callees.erase(peer);
        return;
    }
    callee.is_lost = true;
    if (auto* const planned = in<PlannedRound>()) {
        planned->hung_up.push_back(hung_up_since(published_at_));
        planned->is_amend_due = true;
    }
}

void Coordinator::on_newcomer(const PeerKey& peer, Outbox& out) {
    if (!election_.is_leading()) return;
    const auto message = participation_.turns().message_for(peer);
    if (message && message->term == election_.term()) out.send(peer, step_, *message);
    if (const auto* const called = in<CalledRound>()) {
        const auto callee = called->callees.find(peer);
        const bool is_awaited = callee != called->callees.end() && !callee->second.join;
        if (is_awaited) out.send(peer, step_, wire::Call{term_});
    } else if (const auto* const planned = in<PlannedRound>()) {
        out.send(peer, step_, planned->plan);
    } else if (const auto* const proposed = in<ProposedRound>()) {
        if (voter_.is_voter(peer)) out.send(peer, step_, proposed->whole());
    }
}

// --- time --------------------------------------------------------------------

TimePoint Coordinator::next_deadline() const {
    if (const auto* const gathering = in<Gathering>()) return gathering->deadline;
    if (const auto* const called = in<CalledRound>()) return called->deadline;
    if (const auto* const proposed = in<ProposedRound>()) return proposed->ask_at;
    const auto& planned = std::get<PlannedRound>(phase_);
    const bool waits = planned.is_amend_due || !planned.delivery.untold.empty();
    return std::min(
        {planned.deadline, planned.attempt.judge_at, waits ? planned.delivery.tell_at : kNever});
}

/// Whether there is no round, or one that this peer leads for the head.
bool Coordinator::is_ours() const {
    if (!election_.is_leading()) return false;
    return in<Gathering>() != nullptr || (step_ == voter_.head().step && term_ == election_.term());
}

/// Goes back to gathering. What a decided round has shown counts for the next ones.
void Coordinator::end_round() {
    if (step_ < voter_.head().step) {
        if (const wire::Plan* plan = plan_of(phase_)) veterans_ = veterans_of(*plan);
        if (const auto* proposed = in<ProposedRound>()) {
            participation_.on_decided_state(proposed->record.previous_state);
        }
    }
    phase_ = Gathering{};
}

void Coordinator::advance(TimePoint now, Outbox& out) {
    if (!is_ours()) end_round();
    if (!election_.is_leading()) return;
    if (in<ProposedRound>() == nullptr && election_.inherited()) {
        propose_again(now, *election_.inherited(), out);
    }
    const bool had_round = in<Gathering>() == nullptr;
    meet_deadlines(now, out);
    if (auto* const gathering = in<Gathering>()) {
        // If the round was cancelled, our own member must get the Cancel before the next Call.
        if (!had_round) gather(now, *gathering, out);
    } else if (auto* const called = in<CalledRound>()) {
        if (called->have_all_joined()) plan(now, *called, out);
    } else if (auto* const planned = in<PlannedRound>()) {
        for (const PeerKey& peer : own_.flooders()) exclude_flooder(now, peer, out);
        go_on(now, *planned, out);
    }
}

/// All plans of this term are ours, so a few chunks of others' plans may come, but no more.
void Coordinator::exclude_flooder(TimePoint now, const PeerKey& peer, Outbox& out) {
    if (judge_.is_out(now, peer) || judge_.is_trusted(peer)) return;
    judge_.exclude(now, peer, "sends chunks of sums that are in no plan", out);
}

/// What is due may end the phase, so each step looks again which one it is.
void Coordinator::meet_deadlines(TimePoint now, Outbox& out) {
    if (auto* const gathering = in<Gathering>()) {
        if (now >= gathering->deadline) gathering->deadline = kNever;
    } else if (auto* const called = in<CalledRound>()) {
        if (now >= called->deadline) join_overdue(now, *called, out);
    } else if (auto* const planned = in<PlannedRound>()) {
        if (now >= planned->deadline) time_out(now, *planned, out);
    }
    if (auto* const round = in<PlannedRound>();
        round != nullptr && now >= round->attempt.judge_at) {
        judge_stalls(now, *round, out);
    }
    if (auto* const round = in<PlannedRound>();
        round != nullptr && now >= round->delivery.tell_at) {
        tell_some(now, *round, out);
        if (round->is_amend_due && now >= round->delivery.tell_at) amend(now, *round, out);
    }
    if (auto* const round = in<ProposedRound>()) {
        if (round->ask_at == kNever) round->ask_at = now + config_.rules.election_pause;
        if (now >= round->ask_at) ask_again(now, *round, out);
    }
}

/// Proposes once all awaited members are ready.
void Coordinator::go_on(TimePoint now, PlannedRound& round, Outbox& out) {
    if (!round.may_voters_agree(self_, voter_.head())) {
        return resolve_disagreement(now, round, out);
    }
    if (!is_ready_at_all_but_lost(round)) return hurry(now, round);
    judge_links(now, config_.rules, round.plan, times(round), participation_.links());
    judge_hung_up(now, round, out);
    propose(now, round, out);
}

void Coordinator::cancel(TimePoint now, const std::string& why, Outbox& out) {
    out.note("the round of step " + std::to_string(step_.value()) + " is off: " + why);
    participation_.disturb();
    send_to(receivers(), wire::Cancel{term_}, out);
    end_round();
    retry_at_ = now + config_.rules.heartbeat;
}

// --- receivers -----------------------------------------------------------------

void Coordinator::send_to(const std::set<PeerKey>& peers, wire::Body body, Outbox& out) {
    out.send_to_all({peers.begin(), peers.end()}, step_, std::move(body));
}

std::set<PeerKey> Coordinator::addressees() const {
    const wire::Plan* const plan = plan_of(phase_);
    if (plan == nullptr) return receivers();
    return told_directly(*plan, receivers(), *callees_of(phase_), veterans_);
}

std::set<PeerKey> Coordinator::receivers() const {
    std::set<PeerKey> all(voter_.head().voters.begin(), voter_.head().voters.end());
    if (const Callees* const callees = callees_of(phase_)) {
        for (const auto& [peer, callee] : *callees) all.insert(peer);
    }
    if (const auto* const planned = in<PlannedRound>()) {
        all.insert(planned->gone.begin(), planned->gone.end());
    } else if (const auto* const proposed = in<ProposedRound>()) {
        for (const CommitLine& line : proposed->record.members) all.insert(line.peer);
    }
    return all;
}

// --- invariants ------------------------------------------------------------------

void Coordinator::check_invariants() const {
    head_.check_invariants();
    const auto* const planned = in<PlannedRound>();
    const auto* const proposed = in<ProposedRound>();
    DEDLOC_CHECK(planned == nullptr || planned->plan.attempt == attempt_,
                 "the present plan is that of the last attempt", planned->plan.attempt, attempt_);
    const Callees* const callees = callees_of(phase_);
    DEDLOC_CHECK(callees == nullptr || proposed != nullptr || !election_.is_leading() ||
                     callees->contains(self_),
                 "the coordinator sits in its own round", step_.value());

    const Seen seen{.term = term_,
                    .attempt = attempt_,
                    .phase = phase_.index(),
                    .ready = planned != nullptr ? planned->attempt.ready.size() : 0,
                    .votes = proposed != nullptr ? proposed->votes.size() : 0,
                    .record = proposed != nullptr ? proposed->proposal.digest : Digest{},
                    .head_since = head_.since()};
    const Seen last = std::exchange(seen_, seen);
    DEDLOC_CHECK(proposed == nullptr || seen.record == last.record ||
                     seen.record == digest_of(proposed->record),
                 "a proposal names its record");
    DEDLOC_CHECK(seen.head_since >= last.head_since, "heads follow one another");
    if (last.term != seen.term) return;
    DEDLOC_CHECK(seen.attempt >= last.attempt, "attempts ascend within a term", seen.attempt,
                 last.attempt);
    const bool is_same_phase = seen.phase == last.phase && seen.attempt == last.attempt;
    DEDLOC_CHECK(!is_same_phase || planned == nullptr || seen.ready >= last.ready,
                 "a member that is ready stays ready under the same plan");
    DEDLOC_CHECK(!is_same_phase || proposed == nullptr || seen.record != last.record ||
                     seen.votes >= last.votes,
                 "no vote for a record is lost");
}

}  // namespace dedloc::round
