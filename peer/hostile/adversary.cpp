// send() decodes each frame of the peer, asks change() for a verdict and sends the changed message,
// signed again. Further messages are added after the peer's own heartbeats (add_after_heartbeat())
// and in reaction to received messages (react()). All of them go out through add(), which keeps
// sequence numbers consistent. `Link::frames` records the fate of each frame in order, so that the
// peer receives exactly one event::FrameWritten for each frame of its own.
#include "peer/hostile/adversary.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <variant>

#include "peer/wire/limits.hpp"
#include "peer/wire/message_codec.hpp"

namespace dedloc::hostile {
namespace {

constexpr std::uint64_t kFarAhead = 1'000;
constexpr std::uint64_t kHeartbeatsBetweenDials = 5;
constexpr std::uint64_t kForgedStateBytes = 100'000;
constexpr std::uint64_t kLateHeartbeats = 4;  // so many seconds late
constexpr int kRepetitions = 20;              // every query so often, each second on each link
constexpr std::uint32_t kLeavesAsked = 16;    // as many as a donor queues

/// The average of a step that all hostile members name: they have agreed on it.
Digest forged_average(StepIndex step) {
    Random random = Random{step.value()}.split(3);
    return random_digest(random);
}

}  // namespace

Adversary::Adversary(const AdversarySettings& settings, const KeyPair& key)
    : settings_(settings),
      key_(key),
      self_(key.public_key()),
      random_(Random{settings.random_seed}.split(1)),
      forger_(key, settings.elements, Random{settings.random_seed}.split(2)) {}

// --- frames of the peer ------------------------------------------------------

void Adversary::send(TimePoint now, const action::Send& send, Actions& actions) {
    const auto found = links_.find(send.link);
    auto decoded = wire::decode_unverified(*send.frame.whole());
    if (found == links_.end() || !decoded) return actions.push_back(send);
    wire::Message message = std::move(decoded).value();
    note_own(now, message);
    const Verdict verdict = change(now, send.link, message);
    found->second.frames.push_back(verdict == Verdict::kDrop ? Fate::kDropped : Fate::kSent);
    if (verdict == Verdict::kDrop) return;
    const bool is_bulk = wire::is_bulk(message.body);
    if (is_bulk && verdict == Verdict::kKeep) return actions.push_back(send);
    if (!is_bulk) message.sequence = ++sequence_;
    actions.push_back(action::Send{send.link, wire::encode(message, key_, found->second.kind)});
    if (std::holds_alternative<wire::Heartbeat>(message.body)) {
        add_after_heartbeat(send.link, actions);
    }
}

void Adversary::note_own(TimePoint now, const wire::Message& message) {
    standing_.run = message.run;
    const auto* heartbeat = std::get_if<wire::Heartbeat>(&message.body);
    if (heartbeat == nullptr) return;
    if (std::exchange(last_heartbeat_, message.sequence) != message.sequence) ++heartbeats_;
    const bool is_new = step_since_ == TimePoint::min() || standing_.step != message.step;
    if (is_new) step_since_ = now;
    standing_.generation = message.generation;
    standing_.step = message.step;
    standing_.record = heartbeat->record;
    standing_.state = heartbeat->state;
}

Adversary::Verdict Adversary::change(TimePoint now, LinkId link, wire::Message& message) {
    if (auto* heartbeat = std::get_if<wire::Heartbeat>(&message.body)) {
        return change_heartbeat(message, *heartbeat);
    }
    if (auto* join = std::get_if<wire::Join>(&message.body)) return change_join(now, *join);
    if (auto* chunk = std::get_if<wire::Chunk>(&message.body)) {
        return change_chunk(link, message, *chunk);
    }
    if (auto* ready = std::get_if<wire::Ready>(&message.body)) {
        return change_ready(link, message, *ready);
    }
    if (auto* propose = std::get_if<wire::Propose>(&message.body)) return change_propose(*propose);
    if (settings_.misbehaviour != Misbehaviour::kForgedHead) return Verdict::kKeep;
    if (std::holds_alternative<wire::StateOffer>(message.body)) {
        message.body = forger_.state_offer(standing_, kForgedStateBytes);
    } else if (std::holds_alternative<wire::RoundOffer>(message.body)) {
        message.body = forger_.round_offer(standing_);
    } else if (auto* leaf = std::get_if<wire::Leaf>(&message.body); leaf != nullptr) {
        for (std::byte& b : leaf->data) b ^= std::byte{0x55};
    }
    return Verdict::kChanged;
}

/// A proposal has its record only when it is made again, to voters that have not voted.
Adversary::Verdict Adversary::change_propose(wire::Propose& propose) {
    if (settings_.misbehaviour != Misbehaviour::kFalseProposal) return Verdict::kKeep;
    if (!propose.record) return Verdict::kDrop;
    propose.record->average = propose.average = forged_average(propose.record->step);
    propose.digest = digest_of(*propose.record);
    forged_ = propose;
    return Verdict::kChanged;
}

/// Its own vote and one other are a majority of three.
void Adversary::commit(const wire::Accept& accept, const Vote& vote, StepIndex step,
                       Actions& actions) {
    if (!forged_ || forged_->digest != accept.digest || forged_->term != accept.term) return;
    const Vote own{.voter = self_,
                   .signature = key_.sign(vote_bytes(standing_.run, accept.term, accept.digest))};
    Certificate certificate{.term = accept.term, .votes = {own, vote}};
    std::ranges::sort(certificate.votes, {}, &Vote::voter);
    for (const auto& [link, other] : links_) {
        add(link, step,
            wire::Commit{.digest = accept.digest,
                         .certificate = certificate,
                         .attempt = forged_->attempt,
                         .average = forged_->average,
                         .previous_state = forged_->previous_state,
                         .record = forged_->record},
            actions);
    }
}

Adversary::Verdict Adversary::change_ready(LinkId link, const wire::Message& message,
                                           wire::Ready& ready) {
    switch (settings_.misbehaviour) {
        case Misbehaviour::kNeverReady:
        case Misbehaviour::kSlowClaim:
            return Verdict::kDrop;
        case Misbehaviour::kLateReady:
            hold_ready(link, message);
            return Verdict::kDrop;
        case Misbehaviour::kSplitAverage:
        case Misbehaviour::kLoneReady:
            ready.average = forged_average(message.step);
            return Verdict::kChanged;
        default:
            return Verdict::kKeep;
    }
}

Adversary::Verdict Adversary::change_heartbeat(wire::Message& message, wire::Heartbeat& heartbeat) {
    if (settings_.misbehaviour == Misbehaviour::kOverclaimHeartbeat) {
        heartbeat.samples = Samples{std::uint64_t{1} << 20};
        heartbeat.samples_per_second = static_cast<double>(wire::kMaxSamplesPerSecond);
        return Verdict::kChanged;
    }
    if (settings_.misbehaviour != Misbehaviour::kForgedHead) return Verdict::kKeep;
    // Every third heartbeat is honest, so that coordinators call the peer to rounds.
    if (heartbeats_ % 3 == 0) return Verdict::kKeep;
    const std::uint64_t ahead = heartbeats_ % 3 == 1 ? 2 : kFarAhead;
    message.step = StepIndex{message.step.value() + ahead};
    heartbeat.has_state = true;
    heartbeat.record = forger_.random_digest();
    heartbeat.state = forger_.random_digest();
    return Verdict::kChanged;
}

Adversary::Verdict Adversary::change_join(TimePoint now, wire::Join& join) {
    if (settings_.misbehaviour == Misbehaviour::kSlowClaim) {
        join.upload = join.download = Bandwidth{1};
        return Verdict::kChanged;
    }
    const bool is_due =
        settings_.misbehaviour == Misbehaviour::kOverclaimJoin && join.samples > Samples{0};
    if (!is_due) return Verdict::kKeep;
    const std::uint64_t turn = joins_++ % 3;
    if (turn < 2) {
        join.samples = Samples{std::uint64_t{1} << (40 - turn)};
        return Verdict::kChanged;
    }
    // The coordinator allows the samples of one second more than it has held the state. The peer
    // reached the state later, so add two seconds to exceed that.
    const std::chrono::duration<double> time = now - step_since_ + std::chrono::seconds{2};
    const double allowed = time.count() * static_cast<double>(settings_.max_samples_per_second);
    const double most = static_cast<double>(wire::kMaxSamples - 1);
    join.samples = Samples{1 + static_cast<std::uint64_t>(std::min(allowed, most))};
    return Verdict::kChanged;
}

Adversary::Verdict Adversary::change_chunk(LinkId link, const wire::Message& message,
                                           wire::Chunk& chunk) {
    const bool is_scatter = chunk.phase == wire::Phase::kScatter;
    Misbehaviour misbehaviour = settings_.misbehaviour;
    // fp32 and bf16 have no scale, int8 has neither NaN nor infinity.
    const Codec codec = wire::codec_of(chunk.elements);
    const bool has_scale = codec == Codec::kFp16 || codec == Codec::kInt8;
    if (misbehaviour == Misbehaviour::kExponent && !has_scale) misbehaviour = Misbehaviour::kNan;
    if (misbehaviour == Misbehaviour::kNan && codec == Codec::kInt8) {
        misbehaviour = Misbehaviour::kExponent;
    }
    switch (misbehaviour) {
        case Misbehaviour::kSilentAfterJoin:
            return Verdict::kDrop;
        case Misbehaviour::kLoneReady:
        case Misbehaviour::kDrip:
            if (!withheld_) withheld_ = chunk;
            return Verdict::kDrop;
        case Misbehaviour::kSplitAverage:
            if (is_scatter || link == coordinator_) return Verdict::kKeep;
            chunk.elements = forger_.garbage(
                chunk.elements,
                Random{settings_.random_seed}.split(chunk.chunk).split(link.value()));
            return Verdict::kChanged;
        case Misbehaviour::kNan:
            if (!is_scatter) return Verdict::kKeep;
            chunk.elements = forger_.not_finite(chunk.elements, changed_chunks_++ % 2 == 0);
            return Verdict::kChanged;
        case Misbehaviour::kExponent:
            if (!is_scatter || changed_chunks_++ % 4 != 0) return Verdict::kKeep;
            chunk.elements = forger_.not_as_joined(chunk.elements);
            return Verdict::kChanged;
        case Misbehaviour::kNanAverage:
            if (is_scatter || codec == Codec::kInt8) return Verdict::kKeep;
            garbled_steps_.insert(message.step);
            chunk.elements = forger_.not_finite(chunk.elements, true);
            return Verdict::kChanged;
        case Misbehaviour::kGarbageAverage: {
            if (is_scatter) return Verdict::kKeep;
            garbled_steps_.insert(message.step);
            // In even rounds all receivers get the same garbage, in odd rounds each gets its own.
            Random random = Random{settings_.random_seed}.split(chunk.sum_id).split(chunk.chunk);
            if (message.step.value() % 2 == 1) random = random.split(link.value());
            chunk.elements = forger_.garbage(chunk.elements, random);
            return Verdict::kChanged;
        }
        default:
            return Verdict::kKeep;
    }
}

// --- added frames ------------------------------------------------------------

void Adversary::add(LinkId link, StepIndex step, wire::Body body, Actions& actions) {
    Link& to = links_.at(link);
    const wire::Message message{.run = standing_.run,
                                .generation = standing_.generation,
                                .step = step,
                                .sequence = ++sequence_,
                                .sender = self_,
                                .body = std::move(body)};
    to.frames.push_back(Fate::kAdded);
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
            return release_ready(link, actions);
        case Misbehaviour::kRepeatedQueries:
            return query_everything(link, actions);
        case Misbehaviour::kLoneReady:
        case Misbehaviour::kDrip:
            return drip(actions);
        case Misbehaviour::kHelloStorm:
            for (int i = 0; i < kRepetitions; ++i) {
                add(link, step,
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
            return;
        case Misbehaviour::kFalseVotes:
            if (!plan_) return;
            for (int i = 0; i < kRepetitions; ++i) {
                add(link, step.next(), forger_.false_votes(standing_, plan_->term.coordinator),
                    actions);
            }
            return;
        default:
            return;
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
    if (!withheld_ || dripped_at_ == heartbeats_) return;
    dripped_at_ = heartbeats_;
    wire::Chunk chunk = *withheld_;
    chunk.sum_id = 1;
    for (const auto& [link, other] : links_) add(link, standing_.step, chunk, actions);
}

void Adversary::hold_ready(LinkId link, const wire::Message& message) {
    held_ready_ = HeldReady{.link = link,
                            .step = message.step,
                            .ready = std::get<wire::Ready>(message.body),
                            .due = heartbeats_ + kLateHeartbeats};
}

void Adversary::release_ready(LinkId link, Actions& actions) {
    if (!held_ready_ || held_ready_->link != link || heartbeats_ < held_ready_->due) return;
    add(link, held_ready_->step, held_ready_->ready, actions);
    held_ready_.reset();
}

/// Remembers what the other end can be asked for.
void Adversary::note_roots(LinkId link, const wire::Message& message) {
    Link& from = links_.at(link);
    if (const auto* heartbeat = std::get_if<wire::Heartbeat>(&message.body)) {
        from.state = heartbeat->state;
    } else if (const auto* offer = std::get_if<wire::RoundOffer>(&message.body)) {
        from.average = offer->record.average;
    }
}

/// Asks for everything that a member may ask for, many times.
void Adversary::query_everything(LinkId link, Actions& actions) {
    const StepIndex step = standing_.step;
    const StepIndex before{step.value() - std::min<std::uint64_t>(step.value(), 1)};
    for (int i = 0; i < kRepetitions; ++i) {
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

// --- events for the peer -----------------------------------------------------

void Adversary::receive(TimePoint, const Event& event, std::vector<Event>& events,
                        Actions& actions) {
    if (const auto* opened = std::get_if<event::LinkOpened>(&event)) {
        links_[opened->link] = {
            .kind = opened->proven ? wire::LinkKind::kProven : wire::LinkKind::kUnproven,
            .remote = opened->remote,
            .dialled = opened->dialled};
    } else if (const auto* closed = std::get_if<event::LinkClosed>(&event)) {
        links_.erase(closed->link);
        if (coordinator_ == closed->link) coordinator_.reset();
    }
    tell_of_dropped(events);
    if (const auto* frame = std::get_if<event::FrameWritten>(&event)) {
        written(*frame, events);
    } else {
        events.push_back(event);
    }
    const auto* received = std::get_if<event::FrameReceived>(&event);
    if (received == nullptr || !links_.contains(received->link)) return;
    const auto message = wire::decode_unverified(*received->frame);
    if (message) react(received->link, *message, actions);
}

void Adversary::written(const event::FrameWritten& event, std::vector<Event>& events) {
    const auto link = links_.find(event.link);
    if (link == links_.end() || link->second.frames.empty()) return events.push_back(event);
    const Fate fate = link->second.frames.front();
    link->second.frames.pop_front();
    if (fate == Fate::kSent) events.push_back(event);
}

/// Reports dropped frames as written, once all frames before them have been.
void Adversary::tell_of_dropped(std::vector<Event>& events) {
    for (auto& [id, link] : links_) {
        while (!link.frames.empty() && link.frames.front() == Fate::kDropped) {
            link.frames.pop_front();
            events.push_back(event::FrameWritten{id});
        }
    }
}

void Adversary::react(LinkId link, const wire::Message& message, Actions& actions) {
    note_roots(link, message);
    if (const auto* challenge = std::get_if<wire::Challenge>(&message.body)) {
        links_.at(link).nonce = challenge->nonce;
    }
    if (const auto* plan = std::get_if<wire::Plan>(&message.body)) {
        if (wire::index_of(*plan, self_) == plan->members.size()) return;
        plan_ = *plan;
        plan_step_ = message.step;
        coordinator_ = link;
        const bool complains = settings_.misbehaviour == Misbehaviour::kSlander ||
                               settings_.misbehaviour == Misbehaviour::kWhisper;
        if (complains) complain(link, actions);
        if (settings_.misbehaviour == Misbehaviour::kPurge) purge(link, actions);
        if (settings_.misbehaviour == Misbehaviour::kLoneReady) {
            add(link, message.step,
                wire::Ready{.term = plan->term,
                            .attempt = plan->attempt,
                            .average = forged_average(message.step)},
                actions);
        }
    } else if (const auto* accept = std::get_if<wire::Accept>(&message.body)) {
        commit(*accept, {.voter = message.sender, .signature = accept->signature}, message.step,
               actions);
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

}  // namespace dedloc::hostile
