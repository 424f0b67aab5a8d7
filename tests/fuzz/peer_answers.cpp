#include <algorithm>
#include <utility>

#include "kernels/digest.hpp"
#include "peer/round/member.hpp"
#include "tests/fuzz/histories.hpp"
#include "tests/fuzz/peer_world.hpp"

// What an honest peer would answer: the way into the depth of a round.
namespace dedloc::fuzz {
namespace {

constexpr Samples kSamples{8};

}  // namespace

/// Every introduced peer sends a heartbeat with enough samples for a round.
void PeerWorld::beat() {
    if (now_ < beat_at_ + std::chrono::milliseconds{500}) return;
    beat_at_ = now_;
    std::vector<std::pair<LinkId, std::uint8_t>> strangers;
    for (const auto& [id, link] : links_) {
        if (link.stranger != 0 && !link.is_closing) strangers.emplace_back(id, link.stranger);
    }
    for (const auto& [id, stranger] : strangers) {
        wire::Heartbeat body;
        body.has_state = true;
        body.state = state_digest(head_.step);
        body.record = head_.record;
        body.samples = Samples{16};
        body.samples_per_second = 4;
        body.may_vote = std::ranges::binary_search(head_.voters, key_pair(stranger).public_key());
        if (stranger == 1) body.term = {1, key_pair(1).public_key()};
        say(id, head_.generation, head_.step, body);
        if (!body.may_vote) continue;
        const StateCertificate state{.generation = head_.generation,
                                     .step = head_.step,
                                     .record = body.record,
                                     .state = body.state,
                                     .votes = {}};
        const auto bytes = state_vote_bytes(fuzz_trust().run, state);
        const KeyPair& key = key_pair(stranger);
        say(id, head_.generation, head_.step,
            wire::StateVotes{body.record, body.state, {{key.public_key(), key.sign(bytes)}}});
    }
}

/// A round that the backbone begins, if the backbone is a stranger.
void PeerWorld::call() {
    const auto backbone = std::find_if(links_.begin(), links_.end(), [](const auto& entry) {
        return entry.second.stranger == 1 && !entry.second.is_closing;
    });
    if (self_ == 1 || !works_ || backbone == links_.end()) return;
    const Term term{1, key_pair(1).public_key()};
    say(backbone->first, head_.generation, head_.step, wire::Call{term});
}

void PeerWorld::answer() {
    if (heard_.empty()) return call();
    const Heard heard = std::move(heard_.front());
    heard_.pop_front();
    const auto link = links_.find(heard.link);
    if (link == links_.end()) return;
    answer_as(heard);
}

void PeerWorld::answer_as(const Heard& heard) {
    const wire::Message& m = heard.message;
    const auto reply = [&](wire::Body body) {
        say(heard.link, m.generation, m.step, std::move(body));
    };
    const auto promise = [&](const Term& term) {
        terms_.push_back(term);
        reply(wire::Promise{term, true, term, {}, {}});
    };
    if (const auto* elect = std::get_if<wire::Elect>(&m.body)) {
        promise(elect->term);
    } else if (const auto* call = std::get_if<wire::Call>(&m.body)) {
        promise(call->term);
        wire::Join join;
        join.term = call->term;
        join.contribution_id = 1;
        join.samples = kSamples;
        join.loss_sum = 3;
        join.state = state_digest(m.step);
        join.exponent = exponent();
        reply(join);
    } else if (const auto* join = std::get_if<wire::Join>(&m.body)) {
        answer(heard, *join);
    } else if (const auto* plan = std::get_if<wire::Plan>(&m.body)) {
        answer(heard, *plan);
    } else if (const auto* chunk = std::get_if<wire::Chunk>(&m.body)) {
        answer(heard, *chunk);
    } else if (const auto* ready = std::get_if<wire::Ready>(&m.body)) {
        propose(heard, ready->average);
    } else if (const auto* proposed = std::get_if<wire::Propose>(&m.body)) {
        const std::uint8_t stranger = links_.at(heard.link).stranger;
        const auto bytes = vote_bytes(fuzz_trust().run, proposed->term, proposed->digest);
        digests_.push_back(proposed->digest);
        reply(wire::Accept{proposed->term, proposed->digest, key_pair(stranger).sign(bytes)});
    } else if (const auto* accept = std::get_if<wire::Accept>(&m.body)) {
        commit(heard, accept->term, accept->digest);
    } else if (const auto* query = std::get_if<wire::StateQuery>(&m.body)) {
        if (!query->has_state) offer(heard);
    } else if (std::holds_alternative<wire::CommitQuery>(m.body)) {
        answer_history(heard);
    } else if (const auto* request = std::get_if<wire::LeafRequest>(&m.body)) {
        reply(wire::Leaf{request->root, request->leaf, state_at(m.step)});
    }
}

/// The stranger coordinates: a plan for the two of them.
void PeerWorld::answer(const Heard& heard, const wire::Join& join) {
    const std::uint8_t stranger = links_.at(heard.link).stranger;
    if (join.term.coordinator != key_pair(stranger).public_key()) return;
    wire::Plan plan;
    plan.term = join.term;
    plan.elements = kElements;
    plan.chunk_elements = chunk_elements();
    plan.scalars = {0x3a000000u, 0x3f800000u};
    plan.members = {{heard.message.sender, join.samples, join.loss_sum, join.contribution_id,
                     join.receives, join.exponent},
                    {join.term.coordinator, kSamples, 3, 1, true, exponent()}};
    if (plan.members[1].peer < plan.members[0].peer) {
        std::swap(plan.members[0], plan.members[1]);
    }
    const std::uint32_t own = plan.members[0].peer == heard.message.sender ? 0 : 1;
    const auto chunks = (plan.elements + plan.chunk_elements - 1) / plan.chunk_elements;
    plan.ranges = {{PeerIndex{own}, 0, static_cast<std::uint32_t>(chunks)}};
    say(heard.link, heard.message.generation, heard.message.step, plan);
    answer(heard, plan);
}

/// Sends what the plan wants of the stranger: its contribution, and the averages of its chunks.
void PeerWorld::answer(const Heard& heard, const wire::Plan& plan) {
    plan_ = plan;
    average_.clear();
    const wire::Message& m = heard.message;
    const PeerKey& own = key_pair(links_.at(heard.link).stranger).public_key();
    wire::Chunk chunk;
    chunk.chunk_elements = plan.chunk_elements;
    for (const wire::ChunkRange& range : plan.ranges) {
        const bool is_own = plan.members[range.member.value()].peer == own;
        chunk.kind = is_own ? wire::ChunkKind::kGather : wire::ChunkKind::kScatter;
        chunk.sum_id = is_own ? wire::sum_id_of(plan) : 1;
        for (chunk.chunk = range.first_chunk; chunk.chunk < range.last_chunk; ++chunk.chunk) {
            const std::uint64_t at = std::uint64_t{chunk.chunk} * plan.chunk_elements;
            if (at >= kElements) return;
            chunk.elements =
                numbers(std::min<std::uint64_t>(plan.chunk_elements, kElements - at), 0x34);
            say(heard.link, m.generation, m.step, chunk);
            if (is_own) note_average(chunk);
        }
    }
    say(heard.link, m.generation, m.step, wire::Reduced{plan.term, plan.attempt});
    be_ready(m);
}

/// Gives a contribution back as an average.
void PeerWorld::answer(const Heard& heard, const wire::Chunk& chunk) {
    const wire::Message& m = heard.message;
    if (!plan_) return;
    if (chunk.kind == wire::ChunkKind::kScatter) {
        wire::Chunk back = chunk;
        back.kind = wire::ChunkKind::kGather;
        back.sum_id = wire::sum_id_of(*plan_);
        say(heard.link, m.generation, m.step, back);
    }
    note_average(chunk);
    be_ready(m);
}

/// The whole state of the head, with the votes of all voters.
void PeerWorld::offer(const Heard& heard) {
    const wire::Message& m = heard.message;
    wire::StateOffer offer;
    offer.bytes = kElements * 12;
    for (const auto& leaf : kernels::leaf_digests(state_at(m.step))) {
        offer.leaves.push_back(Digest{leaf});
    }
    offer.record = head_.record;
    for (const Decision& decision : decided_) {
        if (decision.record.generation != m.generation) continue;
        if (decision.record.step.next() == m.step) offer.record = digest_of(decision.record);
    }
    const StateCertificate state{.generation = m.generation,
                                 .step = m.step,
                                 .record = offer.record,
                                 .state = state_digest(m.step),
                                 .votes = {}};
    offer.votes = votes_of_all(state_vote_bytes(fuzz_trust().run, state));
    say(heard.link, m.generation, m.step, offer);
}

/// Another voter sends what the peer has missed: what it has already seen, from some place on.
void PeerWorld::answer_history(const Heard& heard) {
    const wire::Message& m = heard.message;
    for (const Decision& decision : decided_) {
        const CommitRecord& record = decision.record;
        if (record.generation != m.generation || record.step < m.step) continue;
        wire::Commit commit;
        commit.digest = digest_of(record);
        commit.certificate = decision.certificate;
        commit.average = record.average;
        commit.previous_state = record.previous_state;
        commit.record = record;
        say(heard.link, record.generation, record.step, commit);
    }
}

/// The exponent of contributions with the elements of `numbers`.
std::uint8_t PeerWorld::exponent() const {
    return codec_ == Codec::kFp16 || codec_ == Codec::kInt8 ? 127 : 0;
}

/// Several chunks, unless they must have whole int8 blocks.
std::uint32_t PeerWorld::chunk_elements() const {
    return codec_ == Codec::kInt8 ? wire::kInt8BlockElements : 3;
}

/// Equal ones, of the run's codec.
wire::Elements PeerWorld::numbers(std::size_t count, std::uint8_t number) const {
    if (codec_ == Codec::kFp32) return FloatVector(count, static_cast<float>(number));
    if (codec_ == Codec::kInt8) {
        // Rarely a code that is out of bounds.
        const std::size_t blocks =
            (count + wire::kInt8BlockElements - 1) / wire::kInt8BlockElements;
        return wire::Int8Blocks{
            .codes = std::vector<std::int8_t>(count, static_cast<std::int8_t>(number)),
            .exponents = std::vector<std::uint8_t>(blocks, 127)};
    }
    const std::vector<std::uint16_t> bits(count, static_cast<std::uint16_t>(number << 8));
    if (codec_ == Codec::kBf16) return wire::Bfloats{.bits = bits};
    return wire::Halves{.bits = bits, .exponent = 127};
}

void PeerWorld::note_average(const wire::Chunk& chunk) {
    FloatVector& values = average_[chunk.chunk];
    values.resize(count_of(chunk.elements));
    round::decode(chunk.elements, values);
}

/// Every member is ready once all averages have arrived.
void PeerWorld::be_ready(const wire::Message& m) {
    FloatVector whole;
    for (const auto& [index, elements] : average_) {
        whole.insert(whole.end(), elements.begin(), elements.end());
    }
    if (whole.size() != kElements) return;
    const Digest average{kernels::tree_digest(std::as_bytes(std::span{whole}))};
    digests_.push_back(average);
    std::vector<LinkId> strangers;
    for (const auto& [id, link] : links_) {
        if (link.stranger != 0) strangers.push_back(id);
    }
    const wire::Ready ready{plan_->term, plan_->attempt, average};
    for (const LinkId id : strangers) say(id, m.generation, m.step, ready);
}

/// The stranger coordinates, and believes the peer's average. Only voters are asked.
void PeerWorld::propose(const Heard& heard, const Digest& average) {
    if (!plan_) return;
    wire::Propose propose;
    propose.term = plan_->term;
    propose.attempt = plan_->attempt;
    propose.average = average;
    propose.previous_state = state_digest(heard.message.step);
    proposal_ = round::record_of(*plan_, average, propose.previous_state, head_);
    propose.digest = digest_of(*proposal_);
    digests_.push_back(propose.digest);
    if (std::ranges::binary_search(head_.voters, key_pair(self_).public_key())) {
        say(heard.link, heard.message.generation, heard.message.step, propose);
    } else {
        commit(heard, propose.term, propose.digest);
    }
}

/// The peer's vote, and those of all others: what a swarm of liars could decide.
void PeerWorld::commit(const Heard& heard, const Term& term, const Digest& digest) {
    if (!proposal_ || digest_of(*proposal_) != digest) return;
    wire::Commit commit;
    commit.digest = digest;
    commit.certificate = {.term = term,
                          .votes = votes_of_all(vote_bytes(fuzz_trust().run, term, digest))};
    if (plan_) commit.attempt = plan_->attempt;
    commit.average = proposal_->average;
    commit.previous_state = proposal_->previous_state;
    if (!plan_ || plan_->term != term) commit.record = proposal_;
    say(heard.link, heard.message.generation, heard.message.step, commit);
}

/// The votes of all voters of the head, the peer's own included.
std::vector<Vote> PeerWorld::votes_of_all(std::span<const std::byte> bytes) const {
    std::vector<Vote> votes;
    for (std::uint8_t n = 1; n <= 5; ++n) {
        const KeyPair& key = key_pair(n);
        if (!std::ranges::binary_search(head_.voters, key.public_key())) continue;
        votes.push_back({key.public_key(), key.sign(bytes)});
    }
    std::ranges::sort(votes, {}, &Vote::voter);
    return votes;
}

}  // namespace dedloc::fuzz
