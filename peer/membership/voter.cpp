// Everything that a vote depends on is in `state_`, which the host makes durable (action::Voted)
// before it sends any frame that follows from it; so every promise and vote must set has_changed_.
// The head is not part of it: the ledger keeps that, and is written before the votes that follow
// from it. recall() compares the two after a restart.
#include "peer/membership/voter.hpp"

#include <algorithm>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/membership/quorum.hpp"

namespace dedloc::membership {
Voter::Voter(const PeerConfig& config, const KeyPair& key)
    : config_(config), key_(key), generation_(config.generation) {
    head_ = generation_ ? head_after(config.run, generation_->record)
                        : genesis(config.run, config.backbone);
    if (config.last_decision && config.last_decision->record.generation == head_.generation) {
        head_ = head_after(head_, config.last_decision->record);
    }
    if (config.voter) recall(*config.voter);
    state_.generation = head_.generation;
    state_.step = head_.step;
}

/// The ledger is written before the votes that follow from it, so it may be ahead of them. If the
/// votes are ahead, this peer has lost records and cannot know what it must not contradict: it may
/// not vote in this generation.
void Voter::recall(const VoterState& remembered) {
    const bool is_appointed = is_voter(key_.public_key());
    if (remembered.generation < head_.generation) {
        state_.may_vote = is_appointed;
        return;
    }
    const bool is_known =
        remembered.generation == head_.generation && remembered.step <= head_.step;
    state_ = remembered;
    state_.may_vote = remembered.may_vote && is_appointed && is_known;
    has_changed_ = remembered.may_vote && !state_.may_vote;  // durable: fetching does not undo it
    if (remembered.step == head_.step && is_known) return;
    state_.accepted.reset();
    state_.accepted_in = {};
    state_.state.reset();
}

bool Voter::is_voter(const PeerKey& peer) const {
    return std::ranges::binary_search(head_.voters, peer);
}

wire::Promise Voter::promise(const Term& term) {
    const bool is_granted = state_.may_vote && term >= state_.promised;
    if (is_granted && term != state_.promised) {
        state_.promised = term;
        has_changed_ = true;
    }
    wire::Promise answer{.term = term, .granted = is_granted, .promised = state_.promised};
    if (is_granted) {
        answer.accepted_in = state_.accepted_in;
        answer.accepted = state_.accepted;
    }
    return answer;
}

std::optional<Signature> Voter::accept(const Term& term, const CommitRecord& record) {
    if (!state_.may_vote || is_paused_ || term < state_.promised || !extends_head(record)) {
        return {};
    }
    if (state_.accepted_in != term || !state_.accepted) {
        state_.promised = term;
        state_.accepted_in = term;
        state_.accepted = record;
        has_changed_ = true;
    } else if (*state_.accepted != record) {
        return {};  // a second proposal in one term is refused
    }
    return key_.sign(vote_bytes(config_.run, term, digest_of(record)));
}

std::optional<Vote> Voter::vote_for_state(const Digest& state) {
    if (!state_.may_vote || (state_.state && *state_.state != state)) return {};
    has_changed_ = has_changed_ || !state_.state;
    state_.state = state;
    const StateCertificate certificate{.generation = head_.generation,
                                       .step = head_.step,
                                       .record = head_.record,
                                       .state = state,
                                       .votes = {}};
    return Vote{.voter = key_.public_key(),
                .signature = key_.sign(state_vote_bytes(config_.run, certificate))};
}

void Voter::stop_voting() {
    if (!std::exchange(state_.may_vote, false)) return;
    has_changed_ = true;
}

bool Voter::extends_head(const CommitRecord& record) const {
    return record.step < config_.rules.last_step && extends(head_, record) &&
           reduced_in(record) == config_.rules.elements;
}

bool Voter::is_decided(const CommitRecord& record, const Certificate& certificate) const {
    if (record.generation != head_.generation || record.step >= config_.rules.last_step) {
        return false;
    }
    if (record.step >= head_.step) {
        return is_certified(config_.run, head_, record, certificate);
    }
    return is_certified(config_.run, head_.voters, record, certificate);
}

bool Voter::is_proven(const StateCertificate& state) const {
    if (state.generation != head_.generation || state.step > config_.rules.last_step) return false;
    const bool is_initial = state.generation == 0 && state.step == StepIndex{0};
    if (is_initial && config_.initial_state && state.state != *config_.initial_state) return false;
    if (generation_ && state.generation == generation_->record.generation) {
        const GenerationRecord& first = generation_->record;
        const bool is_first = state.step == first.step && state.state == first.state &&
                              state.record == digest_of(config_.run, first);
        if (is_first) return true;
    }
    return is_certified(config_.run, head_.voters, state);
}

bool Voter::is_vote(const StateCertificate& state) const {
    const Vote& vote = state.votes.front();
    return verify(vote.voter, state_vote_bytes(config_.run, state), vote.signature);
}

void Voter::move_to(const Head& head) {
    head_ = head;
    state_.generation = head_.generation;
    state_.step = head_.step;
    state_.accepted.reset();
    state_.accepted_in = {};
    state_.state.reset();
}

/// Not a durable change: the ledger keeps the decision, and votes for earlier steps do not matter.
void Voter::append(const CommitRecord& record) {
    DEDLOC_CHECK(extends_head(record), "a decision follows the head", record.step.value());
    move_to(head_after(head_, record));
}

void Voter::adopt(const StateCertificate& state) {
    DEDLOC_CHECK(state.generation == head_.generation, "a state is of the head's generation",
                 state.generation);
    move_to({.generation = state.generation,
             .step = state.step,
             .record = state.record,
             .voters = head_.voters});
    has_changed_ = true;
}

bool Voter::begin(const SignedGeneration& generation) {
    const GenerationRecord& record = generation.record;
    if (record.generation <= head_.generation) return false;
    if (!is_signed(config_.run, config_.project, generation)) return false;
    generation_ = generation;
    move_to(head_after(config_.run, record));
    has_changed_ = true;
    state_.promised = {};  // terms start again in each generation
    state_.may_vote = config_.voter && record.generation > config_.voter->generation &&
                      is_voter(key_.public_key());
    return true;
}

/// A memory that begins after the present generation is that of a restored backup: it stays as it
/// is until that generation, and until then this peer may not vote.
std::optional<VoterState> Voter::take_change() {
    if (!std::exchange(has_changed_, false) || !config_.voter) return {};
    if (state_.generation < config_.voter->generation) return {};
    return state_;
}

void Voter::check_invariants() const {
    DEDLOC_CHECK(!state_.may_vote || is_voter(key_.public_key()), "only appointed voters vote");
    DEDLOC_CHECK(state_.step == head_.step && state_.generation == head_.generation,
                 "votes are about the head's round", state_.step.value());
    DEDLOC_CHECK(!state_.accepted || extends_head(*state_.accepted), "a vote follows the head");
    DEDLOC_CHECK(std::ranges::is_sorted(head_.voters), "voters are in order");
}

}  // namespace dedloc::membership
