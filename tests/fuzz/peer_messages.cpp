#include <algorithm>
#include <utility>

#include "kernels/digest.hpp"
#include "peer/base/check.hpp"
#include "peer/round/member.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/message_codec.hpp"
#include "peer/wire/plan_change.hpp"
#include "tests/fuzz/histories.hpp"
#include "tests/fuzz/peer_world.hpp"

// What strangers say. The keys are test_key(1) … test_key(5), also the peer's own.
namespace dedloc::fuzz {
namespace {

constexpr std::size_t kMaxKept = 32;

const PeerKey& key_of(std::size_t n) {
    return key_pair(static_cast<std::uint8_t>(n)).public_key();
}

template <class Value>
void remember(std::vector<Value>& values, const Value& value) {
    if (values.size() >= kMaxKept) values.erase(values.begin() + 1);
    values.push_back(value);
}

}  // namespace

void PeerWorld::say(LinkId id, std::uint64_t generation, StepIndex step, wire::Body body) {
    const auto it = links_.find(id);
    if (it == links_.end() || it->second.stranger == 0) return;
    const KeyPair& key = key_pair(it->second.stranger);
    const wire::Message message{.run = fuzz_trust().run,
                                .generation = generation,
                                .step = step,
                                .sequence = ++sequence_,
                                .sender = key.public_key(),
                                .body = std::move(body)};
    if (!wire::is_within_bounds(message)) return;
    if (const auto* plan = std::get_if<wire::Plan>(&message.body)) plan_ = *plan;
    const bool is_relayed = wire::may_be_relayed(message.body);
    const bool is_odd = mixes_forms_ && pick(8) == 7;
    const bool is_signed = (is_relayed || it->second.proven == 0) != is_odd;
    tell(event::FrameReceived{id, wire::frame_of(message, is_signed ? &key : nullptr)});
}

void PeerWorld::introduce(std::uint8_t stranger) {
    const auto fresh = std::find_if(links_.begin(), links_.end(), [](const auto& entry) {
        return entry.second.challenge && entry.second.stranger == 0;
    });
    if (fresh == links_.end()) return;
    const LinkId id = fresh->first;
    Link& link = fresh->second;
    link.stranger = link.proven != 0 ? link.proven : stranger;
    wire::Hello hello;
    hello.oldest_protocol = wire::kOldestProtocol;
    hello.newest_protocol = wire::kNewestProtocol;
    hello.role = link.stranger == 1 ? Role::kBackbone : Role::kTrainer;
    hello.receives = byte() % 8 != 7;
    hello.listening_port = 4'000;
    hello.nonce = *link.challenge;
    say(id, 0, StepIndex{0}, hello);
    say(id, 0, StepIndex{0}, wire::Challenge{});
}

// --- anything ----------------------------------------------------------------

Term PeerWorld::any_term() {
    const std::size_t choice = pick(8);
    if (choice < 4) return terms_[pick(terms_.size())];
    if (choice < 7) return {1 + pick(8), key_of(1 + pick(kStrangers))};
    return {wire::kMaxTermNumber - pick(3), key_of(1 + pick(kStrangers))};
}

Digest PeerWorld::any_digest() {
    return digests_[pick(digests_.size())];
}

StepIndex PeerWorld::any_step() {
    const std::size_t choice = pick(8);
    if (choice < 6) return head_.step;
    if (choice == 6) return head_.step.next();
    return StepIndex{pick(4) == 3 ? wire::kMaxStep - pick(2) : pick(6)};
}

std::optional<CommitRecord> PeerWorld::maybe_record() {
    const std::size_t choice = pick(4);
    if (choice == 0) return std::nullopt;
    if (choice == 1 && !records_.empty()) return records_[pick(records_.size())];
    if (choice == 2 && proposal_) return proposal_;
    CommitRecord record = record_after(head_, static_cast<std::uint8_t>(1 + pick(kStrangers)));
    record.step = any_step();
    record.generation += pick(8) == 7 ? 1 : 0;
    record.average = any_digest();
    record.previous_state = any_digest();
    if (records_.size() < kMaxKept) records_.push_back(record);
    remember(digests_, digest_of(record));
    return record;
}

/// Rarely signed by another key than the project's.
SignedPause PeerWorld::any_pause() {
    const std::uint8_t signer = pick(8) == 7 ? 1 : 9;
    return sign_pause(fuzz_trust().run, 1 + pick(4), key_pair(signer));
}

std::vector<PeerKey> PeerWorld::any_voters() {
    const std::uint8_t chosen = byte();
    std::vector<PeerKey> voters;
    for (std::size_t n = 1; n <= kStrangers; ++n) {
        if (((chosen >> n) & 1) != 0) voters.push_back(key_of(n));
    }
    if (voters.empty()) voters.push_back(key_of(1));
    std::ranges::sort(voters);
    return voters;
}

/// Votes of arbitrary peers for this state; sometimes one of them has no valid signature.
std::vector<Vote> PeerWorld::any_votes(StateCertificate state) {
    const auto bytes = state_vote_bytes(fuzz_trust().run, state);
    std::vector<Vote> votes = votes_of_all(bytes);
    while (votes.size() > 1 && coin()) votes.pop_back();
    if (pick(4) == 3) votes.front().signature[pick(64)] ^= std::byte{1};
    return votes;
}

/// A frame that another peer has signed, to be passed on or not.
wire::Relay PeerWorld::any_relay() {
    const KeyPair& signer = key_pair(static_cast<std::uint8_t>(1 + pick(kStrangers)));
    const wire::Message message{.run = fuzz_trust().run,
                                .generation = head_.generation,
                                .step = any_step(),
                                .sequence = ++sequence_,
                                .sender = signer.public_key(),
                                .body = any_body_of_a_round(pick(11))};
    if (!wire::is_within_bounds(message)) return {Buffer(1)};
    return {*wire::frame_of(message, pick(8) == 7 ? nullptr : &signer)};
}

Certificate PeerWorld::any_certificate(const CommitRecord& record) {
    Certificate certificate =
        certificate_of(record, static_cast<std::uint8_t>(1 + pick(kStrangers)));
    if (coin()) {
        const auto bytes = vote_bytes(fuzz_trust().run, certificate.term, digest_of(record));
        certificate.votes = votes_of_all(bytes);
    }
    if (pick(4) == 3) certificate.term = any_term();
    if (pick(4) == 3) certificate.votes.front().signature[pick(64)] ^= std::byte{1};
    return certificate;
}

wire::StateVotes PeerWorld::any_state_votes() {
    wire::StateVotes body;
    body.record = coin() ? head_.record : any_digest();
    body.state = coin() ? state_digest(head_.step) : any_digest();
    body.votes = any_votes({.generation = head_.generation,
                            .step = any_step(),
                            .record = body.record,
                            .state = body.state,
                            .votes = {}});
    return body;
}

/// An exponent of the run's codec, rarely any byte.
std::uint8_t PeerWorld::any_exponent() {
    return pick(8) == 7 ? byte() : exponent();
}

wire::Plan PeerWorld::any_plan(std::uint8_t stranger) {
    if (plan_ && coin()) {
        wire::Plan plan = *plan_;
        plan.attempt += static_cast<std::uint32_t>(pick(3));
        if (coin()) plan.term = any_term();
        if (coin()) plan.ranges.front().member = PeerIndex{static_cast<std::uint32_t>(pick(2))};
        return plan;
    }
    wire::Plan plan;
    plan.term = coin() ? any_term() : Term{1 + pick(8), key_of(stranger)};
    plan.attempt = static_cast<std::uint32_t>(pick(4));
    plan.elements = pick(8) == 7 ? pick(40) : kElements;
    plan.chunk_elements = pick(8) == 7 ? static_cast<std::uint32_t>(1 + pick(9)) : chunk_elements();
    plan.scalars = {0x3a000000u, 0x3f800000u};
    const std::uint8_t chosen = static_cast<std::uint8_t>(byte() | (1u << self_));
    for (std::uint8_t n = 1; n <= kStrangers; ++n) {
        if (((chosen >> n) & 1) == 0) continue;
        const Samples samples{pick(64)};
        plan.members.push_back({.peer = key_of(n),
                                .samples = samples,
                                .loss_sum = 1.5 * static_cast<double>(samples.value()),
                                .contribution_id = static_cast<std::uint32_t>(pick(3)),
                                .receives = pick(8) != 7,
                                .exponent = any_exponent()});
    }
    std::sort(plan.members.begin(), plan.members.end(),
              [](const auto& a, const auto& b) { return a.peer < b.peer; });
    const std::uint64_t chunks =
        plan.elements == 0 ? 1 : (plan.elements + plan.chunk_elements - 1) / plan.chunk_elements;
    for (std::uint32_t first = 0; first < chunks;) {
        const auto last =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(chunks, first + 1 + pick(3)));
        plan.ranges.push_back(
            {PeerIndex{static_cast<std::uint32_t>(pick(plan.members.size()))}, first, last});
        first = last;
    }
    if (coin()) {
        plan.reducers.push_back({PeerIndex{static_cast<std::uint32_t>(pick(plan.members.size()))},
                                 {"10.0.2.1", 4'000}});
    }
    for (std::uint32_t k = 0; k < plan.members.size(); ++k) {
        if (pick(4) == 3) plan.relays.push_back(k);
    }
    return plan;
}

/// A change of the last plan, if there is one; not always a sound one.
wire::PlanChange PeerWorld::any_plan_change() {
    const wire::Plan base = plan_ ? *plan_ : any_plan(1);
    wire::Plan next = base;
    next.attempt = base.attempt + 1;
    next.relays.clear();
    if (next.members.size() > 1 && coin()) {
        const auto gone = static_cast<std::uint32_t>(pick(next.members.size()));
        next.members.erase(next.members.begin() + gone);
        for (wire::ChunkRange& range : next.ranges) range.member = PeerIndex{0};
        next.reducers.clear();
    }
    const bool is_sound = base.attempt > 0 && wire::is_within_bounds(base);
    const auto change = is_sound ? wire::change_of(base, next) : std::nullopt;
    if (change) return *change;
    return {.term = any_term(),
            .attempt = 2,
            .base = 1,
            .removed = {},
            .ranges = {},
            .reducers = {},
            .relays = {},
            .digest = any_digest()};
}

wire::Body PeerWorld::any_body() {
    const std::size_t choice = pick(21);
    if (choice < 11) return any_body_outside_rounds(choice);
    if (choice < 20) return any_body_of_a_round(choice - 9);
    const auto word = [this] { return static_cast<std::uint32_t>(pick(6)); };
    switch (pick(9)) {
        case 0:
            return wire::LeafRequest{any_digest(), word()};
        case 1:
            return wire::Leaf{any_digest(), word(), Buffer(pick(3) * 48)};
        case 2:
            return any_relay();
        case 3:
            return wire::Leave{};
        case 4:
            return wire::TurnChange{.term = any_term(),
                                    .kind = static_cast<TurnKind>(pick(5)),
                                    .every = static_cast<std::uint32_t>(1 + pick(4))};
        case 5:
            return any_plan_change();
        case 6:
            return wire::PlanQuery{any_term(), word() + 1};
        case 7:
            return wire::SliceQuery{.sum_id = plan_ ? wire::sum_id_of(*plan_) : pick(4),
                                    .chunk_elements = plan_ ? plan_->chunk_elements : 64,
                                    .chunks = {{.first_chunk = word(), .last_chunk = 9}}};
        default:
            return wire::Refusal{"no"};
    }
}

wire::Body PeerWorld::any_body_outside_rounds(std::size_t choice) {
    switch (choice) {
        case 0: {
            wire::Heartbeat body;
            body.has_state = coin();
            body.state = any_digest();
            body.record = coin() ? head_.record : any_digest();
            body.samples = Samples{byte()};
            body.samples_per_second = byte();
            body.may_vote = coin();
            body.term = any_term();
            body.attempt = static_cast<std::uint32_t>(pick(4));
            body.pause_count = pick(4);
            return body;
        }
        case 1: {
            SignedGeneration generation;
            generation.record = {.generation = 1 + pick(3),
                                 .step = any_step(),
                                 .state = any_digest(),
                                 .voters = any_voters()};
            const Digest digest = digest_of(fuzz_trust().run, generation.record);
            const std::uint8_t signer = pick(8) == 7 ? 9 : 1;
            generation.signature = key_pair(signer).sign(digest.bytes);
            return wire::Generation{generation};
        }
        case 2:
            return wire::Elect{any_term()};
        case 3:
            return wire::Promise{any_term(), coin(), any_term(), any_term(), maybe_record()};
        case 4:
            return any_state_votes();
        case 5:
            return wire::CommitQuery{};
        case 6:
            return wire::StateQuery{coin()};
        case 7: {
            wire::StateOffer body;
            body.bytes = pick(8) == 7 ? byte() : kElements * 12;
            body.leaves = {any_digest()};
            const wire::StateVotes votes = any_state_votes();
            body.record = votes.record;
            if (coin()) body.votes = votes.votes;
            return body;
        }
        case 8:
            return wire::Pause{any_pause()};
        case 9:
            return wire::RevocationList{Buffer(1 + pick(3))};
        default: {
            wire::RoundOffer body;
            body.record = maybe_record().value_or(record_after(head_, 1));
            body.certificate = any_certificate(body.record);
            body.leaves = {any_digest()};
            return body;
        }
    }
}

wire::Body PeerWorld::any_body_of_a_round(std::size_t choice) {
    const auto word = [this] { return static_cast<std::uint32_t>(pick(6)); };
    switch (choice) {
        case 0:
            return wire::Call{any_term()};
        case 1: {
            wire::Join body;
            body.term = any_term();
            body.contribution_id = word();
            body.samples = Samples{byte()};
            body.is_finite = pick(8) != 7;
            body.receives = pick(8) != 7;
            body.state = any_digest();
            body.upload = known_bandwidth(byte());
            body.exponent = any_exponent();
            return body;
        }
        case 2:
            return any_plan(static_cast<std::uint8_t>(1 + pick(kStrangers)));
        case 3:
            return wire::Cancel{any_term()};
        case 4: {
            wire::Chunk body;
            body.kind = coin() ? wire::ChunkKind::kScatter : wire::ChunkKind::kGather;
            body.sum_id = plan_ && coin() ? wire::sum_id_of(*plan_) : pick(4);
            body.chunk = word();
            body.chunk_elements = chunk_elements();
            const std::size_t count = 1 + pick(body.chunk_elements);
            body.elements = numbers(count, byte());
            return body;
        }
        case 5:
            return wire::Reduced{any_term(), word()};
        case 6: {
            wire::Stalled body{any_term(), word(), {}, {}, {}};
            for (std::uint32_t i = 0; i < 6; ++i) {
                if (coin()) body.senders.push_back(i);
                if (coin()) body.reducers.push_back(i);
                if (coin()) body.refused.push_back(i);
            }
            return body;
        }
        case 7:
            return wire::Ready{any_term(), word(), any_digest()};
        default:
            return any_decision(choice - 8);
    }
}

wire::Body PeerWorld::any_decision(std::size_t choice) {
    const auto word = [this] { return static_cast<std::uint32_t>(pick(6)); };
    switch (choice) {
        case 0: {
            wire::Propose body;
            body.term = any_term();
            body.attempt = word();
            body.record = maybe_record();
            body.digest = body.record ? digest_of(*body.record) : any_digest();
            body.average = any_digest();
            body.previous_state = any_digest();
            return body;
        }
        case 1:
            return wire::Accept{any_term(), any_digest(), {}};
        default: {
            wire::Commit body;
            body.record = maybe_record();
            const CommitRecord record = body.record.value_or(record_after(head_, 2));
            body.digest = pick(8) == 7 ? any_digest() : digest_of(record);
            body.certificate = any_certificate(record);
            body.attempt = word();
            body.average = coin() ? record.average : any_digest();
            body.previous_state = coin() ? record.previous_state : any_digest();
            return body;
        }
    }
}

void PeerWorld::say_anything() {
    LinkId id;
    if (any_link(id) == nullptr) return;
    const std::uint64_t generation = pick(8) == 7 ? pick(3) : head_.generation;
    const StepIndex step = any_step();
    say(id, generation, step, any_body());
}

}  // namespace dedloc::fuzz
