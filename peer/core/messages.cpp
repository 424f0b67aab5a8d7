// Messages of elections and rounds, routed to the part that they concern. Messages of another
// generation are dropped, but for those that tell which generation or decision is the newest. A
// message that only a coordinator sends counts when its sender holds the newest term known here.
#include <utility>
#include <variant>

#include "peer/core/core.hpp"
#include "peer/round/relays.hpp"

namespace dedloc {
namespace {

/// Whether a message counts whatever generation its sender is in.
bool is_of_any_generation(const wire::Body& body) {
    return std::holds_alternative<wire::Heartbeat>(body) ||
           std::holds_alternative<wire::Generation>(body) ||
           std::holds_alternative<wire::Pause>(body) ||
           std::holds_alternative<wire::Mixture>(body) ||
           std::holds_alternative<wire::RevocationList>(body) ||
           std::holds_alternative<wire::Commit>(body) ||
           std::holds_alternative<wire::CommitQuery>(body) ||
           std::holds_alternative<wire::Leave>(body) || std::holds_alternative<wire::Refusal>(body);
}

}  // namespace

void Peer::Core::deliver(const wire::Message& message) {
    if (message.generation != head().generation && !is_of_any_generation(message.body)) return;
    std::visit([&](const auto& body) { take(message, body); }, message.body);
}

void Peer::Core::take(const wire::Message& m, const wire::Leave&) {
    links_.drop(m.sender, out_.actions);
    peer_lost(m.sender);
}
void Peer::Core::take(const wire::Message& m, const wire::Refusal& body) {
    if (voter_.is_voter(m.sender)) out_.act(action::Refused{body.reason});
}
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

/// Whether the sender coordinates, as far as is known here.
bool Peer::Core::follows(const PeerKey& sender, const Term& term) {
    if (term.coordinator != sender) return false;
    election_.on_coordinator(term, out_);
    return election_.term() == term;
}

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
        return links_.refuse(now_, m.sender,
                             "it relays a message that its coordinator has not signed",
                             out_.actions);
    }
    deliver(*inner);
}

void Peer::Core::take(const wire::Message& m, const wire::Call& body) {
    if (!follows(m.sender, body.term)) return;
    if (leave_at_ == kNever) return member_.on_call(m.step, body, out_);
    held_call_ = {m.step, body};
}
void Peer::Core::take(const wire::Message& m, const wire::TurnChange& body) {
    if (follows(m.sender, body.term)) member_.on_turn(body, out_);
}
void Peer::Core::take(const wire::Message& m, const wire::Join& body) {
    coordinator_.on_join(now_, m.sender, m.step, body, out_);
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
    planned_at_ = now_;
    member_.on_plan(now_, m.step, body, out_);
}

void Peer::Core::take(const wire::Message& m, const wire::PlanChange& body) {
    if (!follows(m.sender, body.term)) return;
    if (const auto plan = member_.on_plan_change(m.step, body, out_)) take(m, *plan);
}
void Peer::Core::take(const wire::Message& m, const wire::PlanQuery& body) {
    coordinator_.on_plan_query(now_, m.sender, m.step, body, out_);
}
void Peer::Core::take(const wire::Message& m, const wire::SliceQuery& body) {
    member_.on_slice_query(m.sender, m.step, body);
}

void Peer::Core::take(const wire::Message& m, const wire::Cancel& body) {
    if (!follows(m.sender, body.term)) return;
    const bool was_planned = member_.plan() != nullptr;
    member_.on_cancel(m.step, out_);
    if (was_planned) round_measured(progress::LinkRate::Outcome::kCancelled);
}

void Peer::Core::take(const wire::Message& m, const wire::Chunk& body) {
    if (wire::codec_of(body.elements) != config_.rules.codec) {
        return links_.refuse(now_, m.sender, "its chunks are of another codec than the run's",
                             out_.actions);
    }
    member_.on_chunk(now_, m.sender, m.step, body, out_);
}

void Peer::Core::take(const wire::Message& m, const wire::Reduced& body) {
    coordinator_.on_reduced(m.sender, m.step, body);
}
void Peer::Core::take(const wire::Message& m, const wire::Stalled& body) {
    coordinator_.on_complaint(now_, m.sender, m.step, body, out_);
}
void Peer::Core::take(const wire::Message& m, const wire::Ready& body) {
    coordinator_.on_ready(now_, m.sender, m.step, body);
}

void Peer::Core::take(const wire::Message& m, const wire::Propose& body) {
    if (!follows(m.sender, body.term)) return;
    election_.on_propose(m.sender, body.term, out_);
    member_.on_propose(now_, m.step, body, election_.has_majority_without({m.sender}), out_);
}

}  // namespace dedloc
