#include <algorithm>
#include <utility>
#include <variant>

#include "peer/core.hpp"
#include "peer/round/relays.hpp"

namespace dedloc {
namespace {

/// These say something whatever generation they come from.
bool is_of_any_generation(const wire::Body& body) {
    return std::holds_alternative<wire::Heartbeat>(body) ||
           std::holds_alternative<wire::Generation>(body) ||
           std::holds_alternative<wire::Leave>(body) || std::holds_alternative<wire::Refusal>(body);
}

}  // namespace

void Peer::Core::deliver(const wire::Message& message) {
    if (message.generation != head().generation && !is_of_any_generation(message.body)) return;
    std::visit([&](const auto& body) { take(message, body); }, message.body);
}

// --- who is where ------------------------------------------------------------

void Peer::Core::take(const wire::Message& m, const wire::Heartbeat& body) {
    if (m.generation < head().generation) {
        out_.send(m.sender, head().step, wire::Generation{*voter_.generation()});
        return;
    }
    if (m.generation > head().generation) return;  // its Generation follows
    if (body.term.coordinator == m.sender) {
        election_.heard(body.term, out_);
    } else if (body.coordinator.port != 0 && body.term.coordinator != self_ &&
               links_.find(body.term.coordinator) == nullptr) {
        links_.reach(now_, body.coordinator, out_.actions);
    }
    if (body.has_state) {
        coordinator_.reported(now_, m.sender, m.step, body.samples, body.samples_per_second);
        settlement_.reported(m.sender, m.step, body.state);
    }
    coordinator_.heard(now_, m.sender, body, out_);
    compare_heads(m, body);
}

void Peer::Core::compare_heads(const wire::Message& m, const wire::Heartbeat& body) {
    if (m.step < head().step) {
        // The coordinator's business; without one, anybody's who knows.
        const bool is_mine = election_.is_leading() || !election_.has_live_leader();
        // The Commit may still be under way to it, unless it was sent to others only.
        const bool is_overdue = now_ >= decided_at_ + config_.rules.heartbeat / 2 ||
                                (election_.is_leading() && !was_addressed(m.sender));
        if (is_mine && is_overdue && !links_.is_crowded()) tell_decision(m.sender, m.step);
        return;
    }
    const bool is_ahead = m.step > head().step;
    // A decision that we have missed; who is one step behind is told.
    const bool is_told = election_.is_coordinator(m.sender) || !election_.has_live_leader() ||
                         election_.is_leading();
    if (is_ahead && is_told && config_.receives) {
        if (m.step > head().step.next()) member_.outdated(out_);
        behind_since_ = std::min(behind_since_, now_);
    }
    const bool is_same_head = m.step == head().step && body.record == head().record;
    const bool is_applying = member_.phase() == round::Member::Phase::kApplying;
    const bool is_apart =
        is_same_head && !is_applying && (!is_current() || body.state != member_.digest());
    if (body.has_state && config_.receives && (is_ahead || is_apart)) weigh(m.step, body.record);
}

/// Whether our last Commit was for this peer too. It was if we do not know.
bool Peer::Core::was_addressed(const PeerKey& peer) const {
    if (addressed_.empty() || addressed_.contains(peer) || !last_decision_) return true;
    return line_of(last_decision_->record, peer) != nullptr;
}

/// Which state of this step is the swarm's, from what is reported: the one that a quorum holds, for
/// no other can be built on; else the one that most hold, of equals the coordinator's. One voice
/// alone may be the damaged one: others are waited for.
void Peer::Core::weigh(StepIndex step, const Digest& record) {
    const bool is_led = election_.has_live_leader() && !election_.is_leading();
    const membership::Known* leader = is_led ? links_.find(election_.term().coordinator) : nullptr;
    if (leader != nullptr && leader->heartbeat.has_state && leader->step != step) return;
    std::map<Digest, std::set<PeerKey>> held;
    std::size_t reports = 0;
    std::size_t still_behind = 0;
    for (const auto& [peer, known] : links_.known()) {
        if (known.generation != head().generation || !known.heartbeat.has_state) continue;
        if (known.step < step) ++still_behind;
        if (known.step != step || known.heartbeat.record != record) continue;
        held[known.heartbeat.state].insert(peer);
        ++reports;
    }
    const bool is_own_step = is_current() && head().step == step;
    if (is_own_step) held[member_.digest()].insert(self_), ++reports;
    if (held.empty()) return;
    Digest best = held.begin()->first;
    for (const auto& [state, holders] : held) {
        const bool is_leaders = leader != nullptr && leader->heartbeat.state == state;
        const bool is_ours = is_own_step && member_.digest() == state && leader == nullptr;
        const std::size_t most = held[best].size();
        const bool is_tie_broken = holders.size() == most && (is_leaders || is_ours);
        if (holders.size() > most || is_tie_broken) best = state;
    }
    bool is_certain = 2 * held[best].size() > reports && (reports > 1 || still_behind == 0);
    for (const auto& [state, holders] : held) {
        if (head().step != step || !is_quorum(holders)) continue;
        best = state;
        is_certain = true;
    }
    // A doubt lasts as long as heartbeats go on raising it.
    const Duration patience = 2 * config_.rules.heartbeat;
    if (now_ > doubt_seen_ + patience) doubt_since_ = now_;
    doubt_seen_ = now_;
    if (!is_certain && now_ < doubt_since_ + patience) return;
    doubt_seen_ = TimePoint::min();
    if (is_own_step && best == member_.digest()) return;
    catch_up_.aim(now_,
                  {.generation = head().generation, .step = step, .state = best, .record = record},
                  out_);
    if (!is_own_step && step == head().step) return;
    if (election_.is_leading())
        election_.step_down(out_, "others hold another state, or are ahead");
    if (!is_own_step) return;
    out_.note("our state is not the swarm's: fetching it");
    member_.outdated(out_);
}

bool Peer::Core::is_quorum(const std::set<PeerKey>& peers) const {
    std::vector<PeerKey> voters;
    for (const PeerKey& peer : peers) {
        if (voter_.is_in_view(peer)) voters.push_back(peer);
    }
    return membership::is_quorum(head().view, config_.backbone, voters);
}

/// For somebody who has missed it: the record comes along.
void Peer::Core::tell_decision(const PeerKey& peer, StepIndex step) {
    if (!last_decision_) return;
    const membership::Known* known = links_.find(peer);
    const bool is_next = step == last_decision_->record.step;
    const bool wants_any = known != nullptr && !known->receives;
    if (known == nullptr || (!is_next && !wants_any)) return;
    const auto told = told_.find(peer);
    if (told != told_.end() && told->second >= head().step) return;
    told_[peer] = head().step;
    out_.send(peer, last_decision_->record.step,
              wire::Commit{.digest = digest_of(last_decision_->record),
                           .certificate = last_decision_->certificate,
                           .record = last_decision_->record});
}

void Peer::Core::take(const wire::Message&, const wire::Generation& body) {
    begin_generation(body.generation);
}

void Peer::Core::begin_generation(const SignedGeneration& generation) {
    if (!voter_.begin(generation)) return;
    out_.note("generation " + std::to_string(generation.record.generation) + " begins at step " +
              std::to_string(generation.record.step.value()));
    out_.act(action::GenerationBegun{generation});
    last_decision_.reset();
    election_.reset();
    catch_up_.reset();
    settlement_.reset();
    donor_.begin(head().generation, voter_.first_step());
    head_changed();
    member_.restart(generation.record.state, out_);
    links_.broadcast(head().step, wire::Generation{generation}, out_.actions);
    send_heartbeat(Audience::kSmallSwarm);
}

void Peer::Core::take(const wire::Message& m, const wire::Leave&) {
    links_.drop(m.sender, out_.actions);
    peer_lost(m.sender);
}

void Peer::Core::take(const wire::Message& m, const wire::Refusal& body) {
    if (m.sender == config_.backbone) out_.act(action::Refused{body.reason});
}

// --- who coordinates ---------------------------------------------------------

void Peer::Core::take(const wire::Message& m, const wire::Elect& body) {
    if (m.step < head().step) tell_decision(m.sender, m.step);
    election_.asked(now_, m.sender, m.step, body, out_);
}

void Peer::Core::take(const wire::Message& m, const wire::Promise& body) {
    renewal_.answered(m.sender, m.step, body);
    const bool was_leading = election_.is_leading();
    election_.answered(m.sender, m.step, body, out_);
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
    // Whoever has proven the link, it speaks for another one here.
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
    election_.heard(term, out_);
    return election_.term() == term;
}

// --- a round -----------------------------------------------------------------

void Peer::Core::take(const wire::Message& m, const wire::Call& body) {
    if (!follows(m.sender, body.term)) return;
    election_.called(m.sender, m.step, body, out_);
    if (leave_at_ == kNever) member_.called(m.step, body, out_);
}
void Peer::Core::take(const wire::Message& m, const wire::Join& body) {
    coordinator_.joined(m.sender, m.step, body, out_);
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
    coordinator_.stalled(now_, m.sender, m.step, body);
}
void Peer::Core::take(const wire::Message& m, const wire::Ready& body) {
    coordinator_.ready(m.sender, m.step, body);
}
void Peer::Core::take(const wire::Message& m, const wire::Propose& body) {
    if (!follows(m.sender, body.term)) return;
    const wire::Plan* plan = member_.last_plan();
    const bool is_of_plan =
        plan != nullptr && plan->term == body.term && plan->attempt == body.attempt;
    if (is_of_plan && member_.proposal(body.digest) == nullptr) pass_on(*plan);
    election_.proposed(m.sender, m.step, body.term, out_);
    member_.proposed(now_, m.step, body, out_);
}

void Peer::Core::take(const wire::Message& m, const wire::Accept& body) {
    const auto decision = coordinator_.accepted(m.sender, m.step, body);
    if (!decision) return;
    const std::set<PeerKey> members = coordinator_.addressees();
    // Ours first: the ledger has the commit before anybody acts on it.
    const StepIndex step = decision->record.step;
    const wire::Commit commit{
        .digest = digest_of(decision->record), .certificate = decision->certificate, .record = {}};
    decide(*decision);
    addressed_ = members;
    settle_votes();
    membership::Links::Circular circular = links_.circular(step, commit);
    for (const PeerKey& peer : members) {
        if (peer != self_) links_.send(peer, circular, out_.actions);
    }
    tell_outsiders(step);
}

/// Who was not in the round and holds the state it began with catches up now: told only after its
/// next heartbeat, it would be a step behind forever where rounds are short.
void Peer::Core::tell_outsiders(StepIndex step) {
    for (const auto& [peer, known] : links_.known()) {
        if (links_.is_crowded()) return;
        const bool is_next = known.generation == head().generation && known.step == step;
        if (is_next && known.heartbeat.has_state && !was_addressed(peer)) tell_decision(peer, step);
    }
}

void Peer::Core::take(const wire::Message& m, const wire::Commit& body) {
    const CommitRecord* proposal = member_.proposal(body.digest);
    if (!body.record && proposal == nullptr) return;
    const CommitRecord record = body.record ? *body.record : *proposal;
    if (digest_of(record) != body.digest) return;
    if (voter_.extends_head(record)) {
        if (!voter_.is_decided(record, body.certificate)) return;
        if (const wire::Plan* plan = member_.last_plan(); plan != nullptr) pass_on(*plan);
        decide({record, body.certificate});
        return;
    }
    // Who holds no state has nothing else to tell it where the swarm is.
    const membership::Known* sender = links_.find(m.sender);
    const bool is_told = !config_.receives && record.step >= head().step && sender != nullptr &&
                         election_.is_coordinator(m.sender) &&
                         sender->heartbeat.record == body.digest;
    if (!is_told) return;
    voter_.adopt(membership::head_after(record));
    head_changed();
    member_.follow_head(out_);
}

void Peer::Core::decide(const Decision& decision) {
    const SharedFloats average = member_.average_of(decision.record);
    last_decision_ = decision;
    addressed_.clear();
    decided_at_ = now_;
    member_.decided(decision.record, decision.certificate, out_);
    member_.reuse(donor_.keep(decision.record, decision.certificate, average));
    if (config_.role == Role::kBackbone) settlement_.decided(now_, decision.record, out_);
    if (config_.measures_bandwidth) {
        upload_.end(now_);
        download_.end(now_);
    }
    bandwidth_measured();
    head_changed();
}

void Peer::Core::bandwidth_measured() {
    member_.set_bandwidth(upload_.bytes_per_second(), download_.bytes_per_second());
    donor_.set_upload(upload_.bytes_per_second());
}

/// Promises, watches and envelopes are about the head.
void Peer::Core::head_changed() {
    links_.set_generation(head().generation);
    election_.round_changed();
    renewal_.reset();
    behind_since_ = kNever;
    doubt_seen_ = TimePoint::min();
    is_heartbeat_due_ = true;
}

void Peer::Core::take(const wire::Message& m, const wire::Finished& body) {
    // A backbone is done when it holds the last state: others come to it for that.
    if (config_.role == Role::kBackbone) return;
    const bool is_told = election_.is_coordinator(m.sender) || m.sender == config_.backbone;
    if (is_told && m.step >= config_.rules.last_step) finish(m.step, body.state);
}

void Peer::Core::finish(StepIndex step, const Digest& state) {
    if (std::exchange(is_finished_, true)) return;
    member_.finish(out_);
    out_.act(action::Finished{.step = step, .digest = state});
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
    if (voter_.extends_head(decision.record)) decide(decision);
    member_.reuse(donor_.keep(decision.record, decision.certificate, fetched->average));
    const CommitRecord& record = decision.record;
    if (member_.caught_up(record, fetched->average, out_)) return;
    catch_up_.reset();
    // The record is proof of the state before it: who holds another one is damaged.
    const bool is_damaged = member_.holds_state() && member_.step() == record.step &&
                            member_.digest() != record.previous_state;
    if (!is_damaged) return;
    catch_up_.aim(now_,
                  {.generation = record.generation,
                   .step = record.step,
                   .state = record.previous_state,
                   .record = record.previous_record},
                  out_);
}

}  // namespace dedloc
