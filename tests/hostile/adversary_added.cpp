// What an adversary adds to the peer's own frames: after each of its heartbeats, in reaction to a
// received message, and, of two kinds, as many frames as the link takes. The last ones are counted
// until they are written, so that a few of them are queued at each link at any time.
#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "peer/wire/limits.hpp"
#include "peer/wire/message_codec.hpp"
#include "tests/hostile/adversary.hpp"

namespace dedloc::hostile {
namespace {

constexpr std::uint64_t kHeartbeatsBetweenDials = 5;
constexpr std::uint64_t kHeartbeatsOfTrickle = 3;
constexpr std::uint64_t kHeartbeatsOfHangUp = 5;
constexpr std::uint32_t kRepetitions = 20;  // every query so often, each second on each link
constexpr std::uint32_t kLeavesAsked = 16;  // as many as a donor queues
// A flood: so many frames are queued at a link at any time.
constexpr std::size_t kQueuedChunks = 8;
constexpr std::size_t kQueuedHeartbeats = 64;

}  // namespace

void Adversary::add(LinkId link, StepIndex step, wire::Body body, Actions& actions) {
    Link& to = links_.at(link);
    const wire::Message message{.run = standing_.run,
                                .generation = standing_.generation,
                                .step = step,
                                .sequence = ++sequence_,
                                .sender = self_,
                                .body = std::move(body)};
    to.frames.push_back(Fate::kAdded);
    ++to.added;
    actions.push_back(action::Send{link, wire::encode(message, key_, to.kind)});
}

/// Sends to the receiver of a heartbeat, so about once a second on each link.
void Adversary::add_after_heartbeat(LinkId link, Actions& actions) {
    const StepIndex step = standing_.step;
    switch (settings_.misbehaviour) {
        case Misbehaviour::kForgedPromise:
            for (wire::Body& body : forger_.voters_words(standing_)) {
                add(link, step, std::move(body), actions);
            }
            return;
        case Misbehaviour::kForgedHead: {
            const StepIndex claimed{step.value() + 2};
            add(link, claimed,
                forger_.state_votes(standing_, claimed, forger_.random_digest(),
                                    forger_.random_digest()),
                actions);
            return;
        }
        case Misbehaviour::kDialStorm: {
            const wire::Plan own = forger_.storm_plan(forger_.high_term());
            const wire::Message relayed{.run = standing_.run,
                                        .generation = standing_.generation,
                                        .step = step,
                                        .sequence = ++sequence_,
                                        .sender = self_,
                                        .body = own};
            add(link, step, own, actions);
            if (plan_) add(link, step, forger_.storm_plan(plan_->term), actions);
            const Frame inner = wire::encode(relayed, key_, wire::LinkKind::kUnproven);
            add(link, step, wire::Relay{*inner.whole()}, actions);
            return hang_up_and_dial(link, actions);
        }
        case Misbehaviour::kSlander:
        case Misbehaviour::kWhisper:
            if (coordinator_ == link) complain(link, actions);
            return;
        case Misbehaviour::kLateReady:
        case Misbehaviour::kLateJoin:
            return release(link, actions);
        case Misbehaviour::kTrickle:
            return trickle(link, actions);
        case Misbehaviour::kHangUp:
            return hang_up(actions);
        case Misbehaviour::kRepeatedQueries:
            return query_everything(link, actions);
        case Misbehaviour::kLoneReady:
        case Misbehaviour::kDrip:
            return drip(actions);
        case Misbehaviour::kHelloStorm:
            return introduce_again(link, actions);
        case Misbehaviour::kFalseVotes:
            if (!plan_) return;
            for (std::uint32_t i = 0; i < repetitions(); ++i) {
                add(link, step.next(), forger_.false_votes(standing_, plan_->term.coordinator),
                    actions);
            }
            return;
        case Misbehaviour::kEarlyFlood:
        case Misbehaviour::kHeartbeatStorm:
            return flood(link, actions);
        default:
            return;
    }
}

std::uint32_t Adversary::repetitions() const {
    return kRepetitions * settings_.intensity;
}

/// Sends many Hellos, each as another process.
void Adversary::introduce_again(LinkId link, Actions& actions) {
    for (std::uint32_t i = 0; i < repetitions(); ++i) {
        add(link, standing_.step,
            wire::Hello{.oldest_protocol = wire::kOldestProtocol,
                        .newest_protocol = wire::kNewestProtocol,
                        .session = random_.next(),
                        .role = Role::kTrainer,
                        .receives = true,
                        .listening_port = 0,
                        .result_name = {},
                        .nonce = links_.at(link).nonce},
            actions);
    }
}

/// Keeps frames queued at this link, so that it carries as many of them as it can.
void Adversary::flood(LinkId link, Actions& actions) {
    const bool sends_chunks = settings_.misbehaviour == Misbehaviour::kEarlyFlood && sample_;
    const bool sends_heartbeats = settings_.misbehaviour == Misbehaviour::kHeartbeatStorm;
    const auto found = links_.find(link);
    if (found == links_.end() || !(sends_chunks || sends_heartbeats)) return;
    Link& to = found->second;
    const std::size_t queued =
        (sends_chunks ? kQueuedChunks : kQueuedHeartbeats) * settings_.intensity;
    while (to.is_greeted && to.added < queued && to.stormed < settings_.flood_per_second) {
        ++to.stormed;
        if (sends_chunks) {
            add(link, standing_.step, forger_.early_chunk(*sample_), actions);
        } else {
            add(link, standing_.step, forger_.heartbeat_of_other_term(*heartbeat_), actions);
        }
    }
}

/// Every five heartbeats, dials every endpoint that the peer has dialled before, and closes this
/// link with a probability of one half.
void Adversary::hang_up_and_dial(LinkId link, Actions& actions) {
    if (heartbeats_ < hung_up_at_ + kHeartbeatsBetweenDials) return;
    hung_up_at_ = heartbeats_;
    std::set<Endpoint> dialled;
    for (const auto& [id, other] : links_) {
        if (other.dialled) dialled.insert(other.remote);
    }
    for (const Endpoint& remote : dialled) actions.push_back(action::Dial{remote});
    if (random_.below(2) == 0) actions.push_back(action::Close{link});
}

/// Closes all links some seconds after a plan. The peer then dials again.
void Adversary::hang_up(Actions& actions) {
    if (left_ == rounds_ || heartbeats_ < planned_at_ + kHeartbeatsOfHangUp) return;
    left_ = rounds_;
    for (const auto& [link, other] : links_) actions.push_back(action::Close{link});
}

/// Names all other members but the coordinator as silent.
void Adversary::purge(LinkId link, Actions& actions) {
    wire::Stalled stalled{
        .term = plan_->term, .attempt = plan_->attempt, .senders = {}, .reducers = {}};
    for (std::uint32_t k = 0; k < plan_->members.size(); ++k) {
        const PeerKey& peer = plan_->members[k].peer;
        if (peer != self_ && peer != plan_->term.coordinator) stalled.senders.push_back(k);
    }
    add(link, plan_step_, std::move(stalled), actions);
}

/// Complains about the other members of the round. The kind of complaint changes with each step.
void Adversary::complain(LinkId link, Actions& actions) {
    if (!plan_ || plan_step_ != standing_.step) return;
    std::vector<std::uint32_t> all;
    for (std::uint32_t k = 0; k < plan_->members.size(); ++k) {
        if (plan_->members[k].peer != self_) all.push_back(k);
    }
    wire::Stalled stalled{
        .term = plan_->term, .attempt = plan_->attempt, .senders = {}, .reducers = {}};
    const std::uint64_t turn = plan_step_.value() % 3;
    if (settings_.misbehaviour == Misbehaviour::kWhisper && !all.empty()) {
        all = {all[plan_step_.value() / 3 % all.size()]};
    }
    (turn == 0 ? stalled.senders : turn == 1 ? stalled.reducers : stalled.refused) = std::move(all);
    add(link, plan_step_, std::move(stalled), actions);
}

/// Once a second, sends every peer a chunk that fits no plan.
void Adversary::drip(Actions& actions) {
    if (!sample_ || dripped_at_ == heartbeats_) return;
    dripped_at_ = heartbeats_;
    wire::Chunk chunk = *sample_;
    chunk.sum_id = 1;
    for (const auto& [link, other] : links_) add(link, standing_.step, chunk, actions);
}

/// Sends one of the chunks that are held back.
void Adversary::trickle(LinkId link, Actions& actions) {
    auto& chunks = links_.at(link).chunks;
    if (chunks.empty() || heartbeats_ % kHeartbeatsOfTrickle != 0) return;
    auto [step, chunk] = std::move(chunks.front());
    chunks.pop_front();
    add(link, step, std::move(chunk), actions);
}

void Adversary::hold(LinkId link, const wire::Message& message, std::uint64_t heartbeats) {
    held_ = Held{
        .link = link, .step = message.step, .body = message.body, .due = heartbeats_ + heartbeats};
}

void Adversary::release(LinkId link, Actions& actions) {
    if (!held_ || held_->link != link || heartbeats_ < held_->due) return;
    add(link, held_->step, std::move(held_->body), actions);
    held_.reset();
}

/// Remembers what the other end can be asked for.
void Adversary::note_roots(LinkId link, const wire::Message& message) {
    Link& from = links_.at(link);
    if (const auto* heartbeat = std::get_if<wire::Heartbeat>(&message.body)) {
        from.state = heartbeat->state;
        if (heartbeat->has_state) {
            swarm_state_ = heartbeat->state;
            swarm_step_ = message.step;
        }
    } else if (const auto* offer = std::get_if<wire::RoundOffer>(&message.body)) {
        from.average = offer->record.average;
    }
}

/// Asks for everything that a member may ask for, many times.
void Adversary::query_everything(LinkId link, Actions& actions) {
    const StepIndex step = standing_.step;
    const StepIndex before{step.value() - std::min<std::uint64_t>(step.value(), 1)};
    for (std::uint32_t i = 0; i < repetitions(); ++i) {
        add(link, step, wire::StateQuery{.has_state = false}, actions);
        add(link, before, wire::StateQuery{.has_state = true}, actions);
        add(link, StepIndex{0}, wire::CommitQuery{}, actions);
        if (!plan_) continue;
        add(link, plan_step_, wire::PlanQuery{.term = plan_->term, .attempt = plan_->attempt},
            actions);
        add(link, plan_step_,
            wire::SliceQuery{
                .sum_id = wire::sum_id_of(*plan_),
                .chunk_elements = plan_->chunk_elements,
                .chunks = {{.first_chunk = 0, .last_chunk = std::uint32_t{wire::kMaxChunks}}}},
            actions);
    }
    for (std::uint32_t i = 0; i < kLeavesAsked; ++i) {
        Link& to = links_.at(link);
        const std::uint32_t leaf = to.leaf++ % kLeavesAsked;
        add(link, step, wire::LeafRequest{.root = to.state, .leaf = leaf}, actions);
        add(link, step, wire::LeafRequest{.root = to.average, .leaf = leaf}, actions);
    }
}

void Adversary::react(LinkId link, const wire::Message& message, Actions& actions) {
    note_roots(link, message);
    links_.at(link).peer = message.sender;
    if (const auto* challenge = std::get_if<wire::Challenge>(&message.body)) {
        links_.at(link).nonce = challenge->nonce;
    }
    if (const auto* plan = std::get_if<wire::Plan>(&message.body)) {
        if (wire::index_of(*plan, self_) < plan->members.size()) {
            react_to_plan(link, message.step, *plan, actions);
        }
    } else if (const auto* accept = std::get_if<wire::Accept>(&message.body)) {
        commit(*accept, {.voter = message.sender, .signature = accept->signature}, message.step,
               actions);
    } else if (settings_.misbehaviour == Misbehaviour::kKeySquat) {
        if (const auto* call = std::get_if<wire::Call>(&message.body)) {
            add(link, message.step, forger_.empty_join(call->term, swarm_state_), actions);
        }
    } else if (settings_.misbehaviour == Misbehaviour::kForgedPromise) {
        if (const auto* call = std::get_if<wire::Call>(&message.body)) {
            add(link, message.step, forger_.promise(standing_, call->term), actions);
        } else if (const auto* elect = std::get_if<wire::Elect>(&message.body)) {
            add(link, message.step, forger_.promise(standing_, elect->term), actions);
        }
    } else if (settings_.misbehaviour == Misbehaviour::kForgedHead) {
        if (!std::holds_alternative<wire::StateQuery>(message.body)) return;
        const StepIndex claimed{standing_.step.value() + 2};
        add(link, claimed, forger_.state_offer(standing_, kForgedStateBytes), actions);
        add(link, standing_.step, forger_.round_offer(standing_), actions);
    }
}

void Adversary::react_to_plan(LinkId link, StepIndex step, const wire::Plan& plan,
                              Actions& actions) {
    if (!plan_ || plan_step_ != step) {
        ++rounds_;
        planned_at_ = heartbeats_;
    }
    if (!plan_ || wire::sum_id_of(*plan_) != wire::sum_id_of(plan)) {
        for (auto& [id, other] : links_) other.chunks.clear();
    }
    plan_ = plan;
    plan_step_ = step;
    coordinator_ = link;
    const auto ready_with = [&](const Digest& average) {
        add(link, step, wire::Ready{.term = plan.term, .attempt = plan.attempt, .average = average},
            actions);
    };
    switch (settings_.misbehaviour) {
        case Misbehaviour::kSlander:
        case Misbehaviour::kWhisper:
            return complain(link, actions);
        case Misbehaviour::kPurge:
            return purge(link, actions);
        case Misbehaviour::kLoneReady:
            return ready_with(forged_average(step));
        case Misbehaviour::kKeySquat:
            return ready_with({});
        default:
            return;
    }
}

}  // namespace dedloc::hostile
