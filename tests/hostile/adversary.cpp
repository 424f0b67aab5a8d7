// send() decodes each frame of the peer, asks change() for a verdict and sends the changed message,
// signed again. Further messages are added after the peer's own heartbeats (add_after_heartbeat())
// and in reaction to received messages (react()). All of them go out through add(), which keeps
// sequence numbers consistent. `Link::frames` records the fate of each frame in order, so that the
// peer receives exactly one event::FrameWritten for each frame of its own.
#include "tests/hostile/adversary.hpp"

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
constexpr float kGradientFactor = -10;
constexpr std::uint64_t kRoundsOfPulse = 4;
constexpr std::uint64_t kLateReadyHeartbeats = 4;  // so many seconds late
constexpr std::uint64_t kLateJoinHeartbeats = 9;
/// Part of the samples that a ticket allows.
constexpr double kClaimed = 0.95;

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
    if (!std::holds_alternative<wire::Heartbeat>(message.body)) return;
    found->second.is_greeted = true;
    found->second.stormed = 0;
    add_after_heartbeat(send.link, actions);
}

void Adversary::note_own(TimePoint now, const wire::Message& message) {
    standing_.run = message.run;
    if (const auto* chunk = std::get_if<wire::Chunk>(&message.body); chunk && !sample_) {
        sample_ = *chunk;
    }
    const auto* heartbeat = std::get_if<wire::Heartbeat>(&message.body);
    if (heartbeat == nullptr) return;
    if (std::exchange(last_heartbeat_, message.sequence) != message.sequence) ++heartbeats_;
    const bool is_new = step_since_ == TimePoint::min() || standing_.step != message.step;
    if (is_new) step_since_ = now;
    standing_.generation = message.generation;
    standing_.step = message.step;
    standing_.record = heartbeat->record;
    standing_.state = heartbeat->state;
    heartbeat_ = *heartbeat;
}

Adversary::Verdict Adversary::change(TimePoint now, LinkId link, wire::Message& message) {
    if (settings_.misbehaviour == Misbehaviour::kKeySquat) return squat(message);
    if (auto* heartbeat = std::get_if<wire::Heartbeat>(&message.body)) {
        return change_heartbeat(message, *heartbeat);
    }
    if (auto* join = std::get_if<wire::Join>(&message.body)) {
        if (settings_.misbehaviour == Misbehaviour::kLateJoin) {
            hold(link, message, kLateJoinHeartbeats);
            return Verdict::kDrop;
        }
        const bool is_no_show = settings_.misbehaviour == Misbehaviour::kNoShow;
        if (is_no_show && ++joins_ % kRoundsOfPulse == 0) return Verdict::kDrop;
        return change_join(now, message.step, *join);
    }
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
            hold(link, message, kLateReadyHeartbeats);
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

/// The peer's own messages of a round are replaced: react() joins and is ready at once. Every
/// second key says that it holds a contribution.
Adversary::Verdict Adversary::squat(wire::Message& message) {
    if (auto* hello = std::get_if<wire::Hello>(&message.body)) {
        hello->role = Role::kTrainer;
        hello->receives = true;
        hello->listening_port = 0;
        return Verdict::kChanged;
    }
    if (auto* heartbeat = std::get_if<wire::Heartbeat>(&message.body)) {
        heartbeat->has_state = swarm_step_ == message.step;
        heartbeat->state = swarm_state_;
        heartbeat->is_frozen = (self_.bytes.back() & std::byte{1}) == std::byte{0};
        heartbeat->samples = Samples{heartbeat->is_frozen ? 1U : 0U};
        heartbeat->samples_per_second = 0;
        heartbeat->listening_port = std::uint16_t{0};
        return Verdict::kChanged;
    }
    const bool is_of_round = std::holds_alternative<wire::Join>(message.body) ||
                             std::holds_alternative<wire::Chunk>(message.body) ||
                             std::holds_alternative<wire::Reduced>(message.body) ||
                             std::holds_alternative<wire::Stalled>(message.body) ||
                             std::holds_alternative<wire::Ready>(message.body);
    return is_of_round ? Verdict::kDrop : Verdict::kKeep;
}

Adversary::Verdict Adversary::change_join(TimePoint now, StepIndex step, wire::Join& join) {
    const bool is_false = settings_.misbehaviour == Misbehaviour::kNegativeGradient ||
                          settings_.misbehaviour == Misbehaviour::kGhostSamples;
    if (is_false && join.samples > Samples{0}) garbled_steps_.insert(step);
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
    const double max = static_cast<double>(wire::kMaxSamples - 1);
    join.samples = Samples{1 + static_cast<std::uint64_t>(std::min(allowed, max))};
    return Verdict::kChanged;
}

Adversary::Verdict Adversary::change_chunk(LinkId link, const wire::Message& message,
                                           wire::Chunk& chunk) {
    const bool is_scatter = chunk.kind == wire::ChunkKind::kScatter;
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
        case Misbehaviour::kHangUp:
        case Misbehaviour::kLoneReady:
        case Misbehaviour::kDrip:
            return Verdict::kDrop;
        case Misbehaviour::kPulse:
            return is_pulse() ? Verdict::kDrop : Verdict::kKeep;
        case Misbehaviour::kTrickle:
            if (!is_pulse()) return Verdict::kKeep;
            // Every second such round spares the coordinator.
            if (rounds_ % (2 * kRoundsOfPulse) == 0 && coordinator_ == link) return Verdict::kKeep;
            links_.at(link).chunks.emplace_back(message.step, chunk);
            return Verdict::kDrop;
        case Misbehaviour::kSplitAverage:
            // The coordinator of the last plan, also on another link after a restart.
            if (is_scatter || !plan_) return Verdict::kKeep;
            if (links_.at(link).peer == plan_->term.coordinator) return Verdict::kKeep;
            chunk.elements = forger_.garbage(
                chunk.elements,
                Random{settings_.random_seed}.split(chunk.chunk).split(link.value()));
            return Verdict::kChanged;
        case Misbehaviour::kEquivocation:
            if (is_scatter) return Verdict::kKeep;
            garbled_steps_.insert(message.step);
            chunk.elements = forger_.nudged(chunk.elements, link.value());
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

bool Adversary::is_pulse() const {
    return rounds_ % kRoundsOfPulse == 0;
}

// --- events for the peer -----------------------------------------------------

void Adversary::receive(TimePoint now, const Event& event, std::vector<Event>& events,
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
        return flood(frame->link, actions);
    }
    events.push_back(event);
    change_event(now, events.back());
    const auto* received = std::get_if<event::FrameReceived>(&event);
    if (received == nullptr || !links_.contains(received->link)) return;
    const auto message = wire::decode_unverified(*received->frame);
    if (message) react(received->link, *message, actions);
    flood(received->link, actions);
}

/// Changes what the peer's trainer tells it.
void Adversary::change_event(TimePoint now, Event& event) const {
    auto* frozen = std::get_if<event::ContributionFrozen>(&event);
    if (settings_.misbehaviour == Misbehaviour::kNegativeGradient) {
        if (frozen == nullptr || frozen->contribution.sum == nullptr) return;
        auto sum = std::make_shared<FloatVector>(*frozen->contribution.sum);
        for (float& x : *sum) x *= kGradientFactor;
        frozen->contribution.sum = std::move(sum);
    } else if (settings_.misbehaviour == Misbehaviour::kGhostSamples) {
        if (auto* progressed = std::get_if<event::Progressed>(&event)) {
            progressed->samples = claimed(now);
            progressed->samples_per_second =
                kClaimed * static_cast<double>(settings_.max_samples_per_second);
        } else if (frozen != nullptr) {
            Contribution& contribution = frozen->contribution;
            const Samples samples = claimed(now);
            const auto times =
                static_cast<double>(samples.value()) /
                static_cast<double>(std::max(contribution.samples, Samples{1}).value());
            contribution = {.samples = samples,
                            .loss_sum = times * contribution.loss_sum,
                            .sum = std::make_shared<FloatVector>(settings_.elements)};
        }
    }
}

/// Nearly as many samples as the device of the ticket can have computed since the step began.
Samples Adversary::claimed(TimePoint now) const {
    const std::chrono::duration<double> time = now - std::max(step_since_, TimePoint{});
    const double max = static_cast<double>(wire::kMaxSamples - 1);
    const double claim =
        kClaimed * time.count() * static_cast<double>(settings_.max_samples_per_second);
    return Samples{1 + static_cast<std::uint64_t>(std::min(claim, max))};
}

void Adversary::written(const event::FrameWritten& event, std::vector<Event>& events) {
    const auto link = links_.find(event.link);
    if (link == links_.end() || link->second.frames.empty()) return events.push_back(event);
    const Fate fate = link->second.frames.front();
    link->second.frames.pop_front();
    if (fate == Fate::kAdded) --link->second.added;
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

}  // namespace dedloc::hostile
