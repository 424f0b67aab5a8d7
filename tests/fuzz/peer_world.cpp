#include "tests/fuzz/peer_world.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "kernels/digest.hpp"
#include "kernels/workers.hpp"
#include "peer/base/check.hpp"
#include "peer/membership/quorum.hpp"
#include "peer/state/model_state.hpp"
#include "peer/wire/message_codec.hpp"
#include "tests/fuzz/histories.hpp"

namespace dedloc::fuzz {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMaxEvents = 4'000;
constexpr std::size_t kMaxLinks = 12;
constexpr std::size_t kMaxHeard = 64;
constexpr int kMaxTicksAtOnce = 64;

PeerConfig config_of(std::uint8_t self, bool receives, bool may_vote, const RoundRules& rules) {
    const ledger::Trust trust = fuzz_trust();
    PeerConfig config;
    config.run = trust.run;
    config.project = trust.project;
    config.backbone = trust.backbone;
    config.role = self == 1 ? Role::kBackbone : Role::kTrainer;
    config.receives = receives;
    config.result_name = "fuzz";
    config.listening_port = 4'000;
    config.rules = rules;
    config.random_seed = 7;
    config.may_begin_generations = self == 1;
    if (may_vote) config.voter = first_memory(0, self == 1);
    config.scalars_of = [](StepIndex) { return UpdateScalars{.learning_rate = 0x3a000000u}; };
    return config;
}

const kernels::ThisThread kThisThread;

}  // namespace

PeerWorld::PeerWorld(std::span<const std::byte> choices)
    : choices_(choices), head_(genesis(fuzz_trust().run, fuzz_trust().backbone)) {
    const std::uint8_t kind = byte();
    self_ = (kind & 1) != 0 ? 2 : 1;
    proves_links_ = (kind & 8) != 0;
    mixes_forms_ = (kind & 16) != 0;
    codec_ = static_cast<Codec>(((kind & 32) != 0 ? 1 : 0) + ((kind & 128) != 0 ? 2 : 0));
    RoundRules rules;
    rules.elements = kElements;
    rules.target_batch = Samples{16};
    rules.last_step = StepIndex{1'000};
    rules.codec = codec_;
    rules.overlaps = coin();
    const bool receives = self_ == 1 || (kind & 2) == 0;
    // A backbone remembers its votes, unless its memory is lost; a trainer may be appointed.
    const bool may_vote = (self_ == 1) != ((kind & 64) != 0);
    peer_.emplace(config_of(self_, receives, may_vote, rules), key_pair(self_), kThisThread);
    digests_ = {Digest{}, head_.record, state_digest(StepIndex{0}), state_digest(StepIndex{1})};
    terms_ = {Term{}};
    tell(event::Tick{});
    if ((kind & 4) == 0 && receives) {
        held_ = StepIndex{0};
        tell(event::StateReached{StepIndex{0}, state_digest(StepIndex{0})});
    }
}

PeerWorld::~PeerWorld() = default;

Buffer PeerWorld::state_at(StepIndex step) {
    Buffer bytes(kElements * 12);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(i * 31 + step.value());
    }
    return bytes;
}

Digest PeerWorld::state_digest(StepIndex step) {
    return state::state_digest(step, state_at(step));
}

std::uint8_t PeerWorld::byte() {
    const auto value = choices_.read<std::uint8_t>();
    is_over_ = is_over_ || !value;
    return value.value_or(0);
}

void PeerWorld::run() {
    while (!is_over_ && events_ < kMaxEvents) take_choice();
    // Strangers that only answer: a conversation goes on until neither end has anything to say.
    for (int i = 0; i < 12; ++i) {
        tick();
        write_frames();
        for (int turn = 0; turn < 8; ++turn) {
            answer_trainer();
            answer();
        }
    }
}

void PeerWorld::take_choice() {
    constexpr std::array<Duration, 8> kSteps{1ms, 100ms, 500ms, 1s, 2s, 6s, 61s, 3'700s};
    switch (pick(18)) {
        case 0:
            return open_link({"10.0.0." + std::to_string(pick(8)), 4'000}, false);
        case 1:
            return introduce(static_cast<std::uint8_t>(1 + pick(5)));
        case 2:
            return close_link();
        case 3: {
            if (dials_.empty()) return;
            const Endpoint remote = *dials_.begin();
            dials_.erase(dials_.begin());
            if (coin()) return open_link(remote, true);
            return tell(event::DialFailed{remote});
        }
        case 4:
            return write_frames();
        case 5:
            return tick();
        case 6:
            now_ += kSteps[pick(kSteps.size())];
            if (coin()) beat();
            return tell(event::Tick{});
        case 7:
        case 8:
        case 9:
        case 10:
            return say_anything();
        case 11:
        case 12:
        case 13:
        case 14:
            answer();
            return answer();
        case 15:
            return train();
        case 16:
            return answer_trainer();
        default:
            return host();
    }
}

// --- events ------------------------------------------------------------------

void PeerWorld::tell(const Event& event) {
    ++events_;
    Actions actions;
    peer_->handle(now_, event, actions);
    for (const Action& action : actions) act(action);
    peer_->check_invariants();
}

void PeerWorld::tick() {
    const TimePoint deadline = peer_->next_deadline();
    if (deadline == kNever) return;
    now_ = std::max(now_, deadline);
    beat();
    int ticks = 0;
    while (peer_->next_deadline() <= now_) {
        DEDLOC_CHECK(++ticks <= kMaxTicksAtOnce, "time goes on after a tick");
        tell(event::Tick{});
    }
}

void PeerWorld::open_link(const Endpoint& remote, bool dialled) {
    if (links_.size() >= kMaxLinks) return tell(event::DialFailed{remote});
    const LinkId id{next_link_++};
    Link& link = links_[id];
    link.remote = remote;
    event::LinkOpened opened{id, remote, dialled};
    if (proves_links_) {
        // Never oneself: no transport links a peer with itself.
        link.proven = static_cast<std::uint8_t>(1 + (self_ + pick(kStrangers - 1)) % kStrangers);
        opened.proven = key_pair(link.proven).public_key();
        opened.user = pick(3);
        opened.max_samples_per_second = byte();
    }
    tell(opened);
}

PeerWorld::Link* PeerWorld::any_link(LinkId& id) {
    if (links_.empty()) return nullptr;
    const auto it = std::next(links_.begin(), static_cast<std::ptrdiff_t>(pick(links_.size())));
    id = it->first;
    return &it->second;
}

void PeerWorld::close_link() {
    LinkId id;
    // Those that the peer has closed first: it waits for them.
    const auto closing = std::find_if(links_.begin(), links_.end(),
                                      [](const auto& link) { return link.second.is_closing; });
    if (closing != links_.end()) {
        id = closing->first;
    } else if (any_link(id) == nullptr) {
        return;
    }
    links_.erase(id);
    tell(event::LinkClosed{id});
}

void PeerWorld::write_frames() {
    std::vector<LinkId> ids;
    for (const auto& [id, link] : links_) ids.push_back(id);
    for (const LinkId id : ids) {
        while (links_.contains(id) && links_.at(id).unwritten > 0 && events_ < 2 * kMaxEvents) {
            --links_.at(id).unwritten;
            tell(event::FrameWritten{id});
        }
    }
}

void PeerWorld::train() {
    if (!works_ || !held_ || !trainer_.empty()) return;
    tell(event::Progressed{*held_, Samples{byte()}, byte() / 8.0});
}

void PeerWorld::answer_trainer() {
    if (trainer_.empty()) return;
    const Event event = std::move(trainer_.front());
    trainer_.pop_front();
    tell(event);
}

void PeerWorld::host() {
    switch (pick(8)) {
        case 0:
            return tell(event::EndpointsFound{{{"10.0.1." + std::to_string(pick(4)), 4'000}}});
        case 1:
            return tell(event::LeaveRequested{});
        case 2:
            return tell(event::ReturnRequested{});
        case 4:
            return tell(event::PauseSigned{any_pause()});
        case 5:
            return tell(event::RevocationsSigned{Buffer(1 + pick(3))});
        case 6:
            return tell(event::ListeningPortChanged{static_cast<std::uint16_t>(pick(2))});
        case 3:
            if (self_ == 1) tell(event::VotersWanted{any_voters()});
            return;
        default:
            break;
    }
    if (!std::exchange(wants_generation_, false)) return;
    const auto digest = digest_of(fuzz_trust().run, wanted_);
    tell(event::GenerationSigned{{wanted_, key_pair(9).sign(digest.bytes)}});
}

// --- actions -----------------------------------------------------------------

void PeerWorld::act(const Action& action) {
    if (const auto* dial = std::get_if<action::Dial>(&action)) {
        dials_.insert(dial->remote);
    } else if (const auto* send = std::get_if<action::Send>(&action)) {
        sent(send->link, *send->frame.whole());
    } else if (const auto* close = std::get_if<action::Close>(&action)) {
        if (links_.contains(close->link)) links_.at(close->link).is_closing = true;
    } else if (const auto* work = std::get_if<action::Work>(&action)) {
        works_ = held_ == work->step;
    } else if (const auto* overlap = std::get_if<action::Overlap>(&action)) {
        works_ = held_ == overlap->step;
    } else if (const auto* freeze = std::get_if<action::Freeze>(&action)) {
        const bool has_some = works_ && held_ == freeze->step && coin();
        Contribution contribution;
        if (has_some) {
            contribution.samples = Samples{1 + pick(32)};
            contribution.loss_sum = 5;
            contribution.is_finite = byte() != 255;
            contribution.sum = std::make_shared<FloatVector>(kElements, 0.5f);
        }
        works_ = false;
        trainer_.push_back(event::ContributionFrozen{freeze->step, contribution});
    } else if (const auto* update = std::get_if<action::Apply>(&action)) {
        apply(*update);
    } else if (std::holds_alternative<action::TakeSnapshot>(action)) {
        const StepIndex step = held_.value_or(StepIndex{0});
        const Buffer bytes = state_at(step);
        std::vector<Digest> leaves;
        for (const auto& leaf : kernels::leaf_digests(bytes)) leaves.push_back(Digest{leaf});
        trainer_.push_back(event::SnapshotTaken{
            step, state_digest(step), stable_bytes(std::make_shared<Buffer>(bytes)), leaves});
    } else if (const auto* load = std::get_if<action::Load>(&action)) {
        works_ = false;
        if (state::state_digest(load->step, *load->bytes) == load->digest && byte() != 255) {
            held_ = load->step;
            trainer_.push_back(event::StateReached{load->step, load->digest});
        } else {
            trainer_.push_back(event::StateRefused{load->step});
        }
    } else if (std::holds_alternative<action::Pause>(action)) {
        works_ = false;
    } else if (const auto* committed = std::get_if<action::Committed>(&action)) {
        decided_.push_back({committed->record, committed->certificate});
        records_.push_back(committed->record);
        head_ = membership::head_after(head_, committed->record);
        digests_.push_back(head_.record);
    } else if (const auto* begun = std::get_if<action::GenerationBegun>(&action)) {
        head_ = membership::head_after(fuzz_trust().run, begun->generation.record);
    } else if (const auto* wanted = std::get_if<action::GenerationWanted>(&action)) {
        wants_generation_ = true;
        wanted_ = wanted->record;
    } else if (const auto* read = std::get_if<action::ReadHistory>(&action)) {
        read_history(*read);
    }
}

/// The host's answer from its ledger comes later, as the trainer's answers do.
void PeerWorld::read_history(const action::ReadHistory& read) {
    event::HistoryRead answer{.to = read.to, .entries = {}};
    const auto is_first = [&](const Decision& decision) {
        return decision.record.generation == read.generation && decision.record.step == read.step;
    };
    for (auto at = std::ranges::find_if(decided_, is_first);
         at != decided_.end() && answer.entries.size() < read.max_entries; ++at) {
        answer.entries.emplace_back(*at);
    }
    trainer_.push_back(answer);
}

void PeerWorld::apply(const action::Apply& apply) {
    DEDLOC_CHECK(held_ == apply.step, "an update is of the state that the trainer holds",
                 apply.step.value());
    DEDLOC_CHECK(apply.average != nullptr && apply.average->size() == kElements,
                 "an average has all elements");
    works_ = false;
    held_ = apply.step.next();
    trainer_.push_back(event::StateReached{*held_, state_digest(*held_)});
    digests_.push_back(state_digest(*held_));
}

void PeerWorld::sent(LinkId id, const Buffer& frame) {
    const auto it = links_.find(id);
    if (it == links_.end()) return;
    ++it->second.unwritten;
    const auto kind = proves_links_ ? wire::LinkKind::kProven : wire::LinkKind::kUnproven;
    auto decoded = wire::decode(frame, kind);
    DEDLOC_CHECK(decoded.has_value(), "what a peer sends can be read");
    wire::Message message = std::move(decoded).value();
    if (const auto* challenge = std::get_if<wire::Challenge>(&message.body)) {
        it->second.challenge = challenge->nonce;
    }
    if (const auto* accept = std::get_if<wire::Accept>(&message.body)) check_vote(message, *accept);
    if (const auto* heartbeat = std::get_if<wire::Heartbeat>(&message.body)) {
        // It may have got there by a state that voters have signed.
        head_.generation = message.generation;
        head_.step = message.step;
        head_.record = heartbeat->record;
    }
    if (it->second.stranger == 0 || std::holds_alternative<wire::Heartbeat>(message.body)) return;
    if (heard_.size() < kMaxHeard) heard_.push_back({id, std::move(message)});
}

/// Two records in one term could both be decided.
void PeerWorld::check_vote(const wire::Message& message, const wire::Accept& accept) {
    const std::tuple place{message.generation, message.step, accept.term};
    const auto [vote, is_first] = voted_.emplace(place, accept.digest);
    DEDLOC_CHECK(is_first || vote->second == accept.digest, "one vote in each term of a round",
                 message.step.value());
}

}  // namespace dedloc::fuzz
