#include <algorithm>
#include <utility>
#include <variant>

#include "peer/core/core.hpp"
#include "peer/round/relays.hpp"

namespace dedloc {
namespace {

/// These say something whatever generation they come from: commits are compared with the head.
bool is_of_any_generation(const wire::Body& body) {
    return std::holds_alternative<wire::Heartbeat>(body) ||
           std::holds_alternative<wire::Generation>(body) ||
           std::holds_alternative<wire::Commit>(body) ||
           std::holds_alternative<wire::CommitQuery>(body) ||
           std::holds_alternative<wire::Leave>(body) || std::holds_alternative<wire::Refusal>(body);
}

}  // namespace

void Peer::Core::deliver(const wire::Message& message) {
    if (message.generation != head().generation && !is_of_any_generation(message.body)) return;
    std::visit([&](const auto& body) { take(message, body); }, message.body);
}

// --- who is where ------------------------------------------------------------

/// What a heartbeat claims moves no head: a peer that is behind is told, one ahead has to prove it.
void Peer::Core::take(const wire::Message& m, const wire::Heartbeat& body) {
    if (m.generation < head().generation) {
        out_.send(m.sender, head().step, wire::Generation{*voter_.generation()});
        return;
    }
    if (m.generation > head().generation) return;  // its Generation follows
    if (body.term.coordinator == m.sender) election_.on_coordinator(body.term, out_);
    if (body.has_state) {
        coordinator_.reported(now_, m.sender, m.step, body.samples, body.samples_per_second);
        settlement_.reported(m.sender, m.step, body.state);
    }
    coordinator_.heard(now_, m.sender, body, out_);
    if (m.step < head().step) tell_if_behind(m, body);
    if (m.step > head().step) note_ahead(m.sender);
}

/// The coordinator's business; of a peer that hears no coordinator, or without one, every peer's.
void Peer::Core::tell_if_behind(const wire::Message& m, const wire::Heartbeat& body) {
    const bool is_mine = election_.is_leading() || !election_.has_live_leader() ||
                         body.term.coordinator == PeerKey{};
    // The Commit may still be under way to it, unless it was sent to others only.
    const bool is_overdue = now_ >= decided_at_ + config_.rules.heartbeat / 2 ||
                            (election_.is_leading() && !was_addressed(m.sender));
    if (is_mine && is_overdue && !links_.is_crowded()) tell_decision(m.sender, m.step);
}

/// Whether our last Commit was for this peer too. It was if we do not know.
bool Peer::Core::was_addressed(const PeerKey& peer) const {
    if (addressed_.empty() || addressed_.contains(peer) || !last_decision_) return true;
    return line_of(last_decision_->record, peer) != nullptr;
}

/// A peer that has missed something: the commit with its record if that is all, else what proves
/// where the history stands.
void Peer::Core::tell_decision(const PeerKey& peer, StepIndex step) {
    const auto told = told_.find(peer);
    if (told != told_.end() && told->second >= head().step) return;
    const bool is_last = last_decision_ && step == last_decision_->record.step;
    const bool has_proof = !certificates_.empty() && certificates_.rbegin()->first > step;
    if (!is_last && !has_proof) return;
    told_[peer] = head().step;
    if (!is_last) return send_certificate(peer);
    out_.send(peer, step, full_commit(*last_decision_));
}

void Peer::Core::take(const wire::Message& m, const wire::Leave&) {
    links_.drop(m.sender, out_.actions);
    peer_lost(m.sender);
}

void Peer::Core::take(const wire::Message& m, const wire::Refusal& body) {
    if (voter_.is_voter(m.sender)) out_.act(action::Refused{body.reason});
}

// --- who coordinates ---------------------------------------------------------

void Peer::Core::take(const wire::Message& m, const wire::Elect& body) {
    if (m.step > head().step) note_ahead(m.sender);
    election_.on_elect(now_, m.sender, m.step, body, out_);
}

void Peer::Core::take(const wire::Message& m, const wire::Promise& body) {
    if (m.step > head().step) note_ahead(m.sender);
    const bool was_leading = election_.is_leading();
    election_.on_promise(m.sender, m.step, body, out_);
    if (!was_leading && election_.is_leading()) send_heartbeat(Audience::kSmallSwarm);
}

// --- relays ------------------------------------------------------------------

/// A relay of the plan gives its share of the members what the coordinator has just told it.
void Peer::Core::pass_on(const wire::Plan& plan) {
    if (received_ == nullptr) return;
    std::vector<PeerKey> charges = round::charges_of(plan, self_);
    if (!charges.empty()) {
        out_.send_to_all(std::move(charges), head().step, wire::Relay{*received_});
    }
}

void Peer::Core::take(const wire::Message& m, const wire::Relay& body) {
    received_.reset();  // one hop
    // The peer that has proven the link passes on what another one has signed.
    const auto inner = wire::decode(body.frame, wire::LinkKind::kUnproven);
    const bool is_relayed = inner && inner->run == config_.run && inner->sender != self_ &&
                            wire::may_be_relayed(inner->body);
    if (!is_relayed) {
        return links_.refuse(now_, m.sender, "it passes on what nobody said", out_.actions);
    }
    deliver(*inner);
}

/// Whether the sender coordinates, as far as is known here.
bool Peer::Core::follows(const PeerKey& sender, const Term& term) {
    if (term.coordinator != sender) return false;
    election_.on_coordinator(term, out_);
    return election_.term() == term;
}

// --- a round -----------------------------------------------------------------

void Peer::Core::take(const wire::Message& m, const wire::Call& body) {
    if (!follows(m.sender, body.term)) return;
    if (leave_at_ == kNever) member_.called(m.step, body, out_);
}
void Peer::Core::take(const wire::Message& m, const wire::Join& body) {
    coordinator_.joined(now_, m.sender, m.step, body, out_);
}
/// Those that are not known here (any more) are dialled.
void Peer::Core::reach_reducers(const wire::Plan& plan) {
    for (const wire::ReducerEndpoint& reducer : plan.reducers) {
        const PeerKey& peer = plan.members[reducer.member.value()].peer;
        if (peer != self_ && links_.find(peer) == nullptr) {
            links_.reach(now_, reducer.endpoint, out_.actions);
        }
    }
}
void Peer::Core::take(const wire::Message& m, const wire::Plan& body) {
    if (!follows(m.sender, body.term)) return;
    if (member_.is_news(m.step, body)) pass_on(body);
    reach_reducers(body);
    member_.planned(now_, m.step, body, out_);
}
void Peer::Core::take(const wire::Message& m, const wire::Cancel& body) {
    if (follows(m.sender, body.term)) member_.cancelled(m.step, out_);
}
void Peer::Core::take(const wire::Message& m, const wire::Chunk& body) {
    if (wire::codec_of(body.elements) != config_.rules.codec) {
        return links_.refuse(now_, m.sender, "its chunks are of another codec than the run's",
                             out_.actions);
    }
    member_.chunk(now_, m.sender, m.step, body, out_);
}
void Peer::Core::take(const wire::Message& m, const wire::Reduced& body) {
    coordinator_.reduced(m.sender, m.step, body);
}
void Peer::Core::take(const wire::Message& m, const wire::Stalled& body) {
    coordinator_.stalled(now_, m.sender, m.step, body, out_);
}
void Peer::Core::take(const wire::Message& m, const wire::Ready& body) {
    coordinator_.ready(m.sender, m.step, body);
}
void Peer::Core::take(const wire::Message& m, const wire::Propose& body) {
    if (!follows(m.sender, body.term)) return;
    election_.on_propose(m.sender, body.term, out_);
    member_.proposed(m.step, body, out_);
}

void Peer::Core::take(const wire::Message& m, const wire::Accept& body) {
    const auto decision = coordinator_.accepted(m.sender, m.step, body);
    if (!decision) return;
    const std::set<PeerKey> members = coordinator_.addressees();
    const wire::Commit commit = coordinator_.commit_of(*decision);
    // Ours first: the ledger has the commit before any other peer acts on it.
    const StepIndex step = decision->record.step;
    decide(*decision, true);
    addressed_ = members;
    settle_votes();
    membership::Links::Circular circular = links_.circular(step, commit);
    for (const PeerKey& peer : members) {
        if (peer != self_) links_.send(peer, circular, out_.actions);
    }
    tell_outsiders(step);
}

/// A peer that was not in the round and holds the state it began with catches up now: told only
/// after its next heartbeat, it would be a step behind forever where rounds are short.
void Peer::Core::tell_outsiders(StepIndex step) {
    for (const auto& [peer, known] : links_.known()) {
        if (links_.is_crowded()) return;
        const bool is_next = known.generation == head().generation && known.step == step;
        if (is_next && known.heartbeat.has_state && !was_addressed(peer)) tell_decision(peer, step);
    }
}

void Peer::Core::take(const wire::Message&, const wire::Commit& body) {
    const auto record = member_.record_of(body);
    if (!record || !voter_.extends_head(*record)) return;
    if (!voter_.is_decided(*record, body.certificate)) return;
    if (const wire::Plan* plan = member_.last_plan(); plan != nullptr) pass_on(*plan);
    const bool was_asked_for = body.record.has_value();
    queried_commits_ += was_asked_for ? 1 : 0;
    if (queried_commits_ >= wire::kMaxCommitsPerQuery) next_query_ = now_;
    decide({*record, body.certificate}, !was_asked_for);
}

void Peer::Core::decide(const Decision& decision, bool is_live) {
    const SharedFloats average = member_.average_of(decision.record);
    last_decision_ = decision;
    addressed_.clear();
    decided_at_ = now_;
    member_.decided(decision.record, decision.certificate, out_);
    member_.reuse(donor_.keep(decision.record, decision.certificate, average));
    if (config_.role == Role::kBackbone) {
        settlement_.decided(now_, decision.record, out_);
        for (const CommitLine& line : decision.record.members) {
            if (line.peer != self_ && links_.find(line.peer) == nullptr) {
                settlement_.lost(line.peer);
            }
        }
    }
    if (config_.measures_bandwidth) {
        upload_.end(now_);
        download_.end(now_);
    }
    bandwidth_measured();
    head_changed(is_live);
}

void Peer::Core::bandwidth_measured() {
    member_.set_bandwidth(upload_.bytes_per_second(), download_.bytes_per_second());
    donor_.set_upload(upload_.bytes_per_second());
}

// --- state -------------------------------------------------------------------

void Peer::Core::take(const wire::Message& m, const wire::StateQuery& body) {
    donor_.queried(now_, m.sender, m.generation, m.step, body, own(), out_);
}
void Peer::Core::take(const wire::Message& m, const wire::StateOffer& body) {
    catch_up_.offered(now_, m.sender, m.step, body, out_);
}
void Peer::Core::take(const wire::Message& m, const wire::RoundOffer& body) {
    catch_up_.offered(now_, m.sender, m.step, body, out_);
}
void Peer::Core::take(const wire::Message& m, const wire::LeafRequest& body) {
    donor_.requested(now_, m.sender, body);
    pump_to(m.sender);
}
void Peer::Core::take(const wire::Message& m, const wire::Leaf& body) {
    catch_up_.received(now_, m.sender, body, out_);
}

void Peer::Core::apply_fetched() {
    if (member_.phase() == round::Member::Phase::kApplying) return;
    const auto fetched = catch_up_.take_round();
    if (!fetched) return;
    const Decision decision{.record = fetched->record, .certificate = fetched->certificate};
    if (voter_.extends_head(decision.record)) decide(decision, false);
    member_.reuse(donor_.keep(decision.record, decision.certificate, fetched->average));
    const CommitRecord& record = decision.record;
    if (member_.caught_up(record, fetched->average, out_)) return;
    catch_up_.reset();
    // The record is proof of the state before it: a peer that holds another one is damaged.
    const bool is_damaged = member_.holds_state() && member_.step() == record.step &&
                            member_.digest() != record.previous_state;
    if (!is_damaged) return;
    catch_up_.aim(now_,
                  {.generation = record.generation,
                   .step = record.step,
                   .record = record.previous_record,
                   .state = record.previous_state,
                   .votes = {}},
                  out_);
}

}  // namespace dedloc
