#include "peer/membership/voter.hpp"

#include <algorithm>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/membership/quorum.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::membership {
namespace {

constexpr std::size_t kRememberedDecisions = 64;

}  // namespace

Voter::Voter(const PeerConfig& config, const KeyPair& key) : config_(config), key_(key) {
    generation_ = config.generation;
    const Head first = generation_ ? head_after(config.run, generation_->record)
                                   : genesis(config.run, config.backbone);
    origin_ = first.record;
    head_ = first;
    if (config.last_record && config.last_record->generation == first.generation) {
        head_ = head_after(*config.last_record);
        remember(*config.last_record);
    }
    const bool is_current = config.voter && config.voter->generation == head_.generation &&
                            config.voter->step == head_.step;
    if (is_current) {
        state_ = *config.voter;
    } else if (config.voter) {
        state_.promised = config.voter->promised;
    }
    // Who kept its votes on a disk has cast none that it does not know of; a backbone that has
    // never run has none to forget.
    const bool is_first = head_ == first && key.public_key() == config.backbone;
    state_.may_vote = is_in_view(key.public_key()) && (is_first || config.voter);
    state_.generation = head_.generation;
    state_.step = head_.step;
}

bool Voter::is_in_view(const PeerKey& peer) const {
    return std::binary_search(head_.view.begin(), head_.view.end(), peer);
}

bool Voter::is_near(const Term& term) const {
    if (term.number == kLastTerm) return term.coordinator == config_.backbone;
    const std::uint64_t promised = state_.promised.number;
    return term.number - std::min(term.number, promised) <= wire::kMaxTermLead;
}

wire::Promise Voter::promise(const Term& term) {
    const bool is_granted = state_.may_vote && is_near(term) && term >= state_.promised;
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

std::optional<Signature> Voter::accept(TimePoint now, const Term& term,
                                       const CommitRecord& record) {
    const bool is_away = key_.public_key() != config_.backbone &&
                         now - heard_backbone_ > config_.rules.backbone_absence;
    if (!state_.may_vote || is_away || term < state_.promised || !extends_head(record)) return {};
    if (term.number == kLastTerm) return {};
    if (state_.accepted_in != term || !state_.accepted) {
        state_.promised = term;
        state_.accepted_in = term;
        state_.accepted = record;
        has_changed_ = true;
    } else if (*state_.accepted != record) {
        return {};  // two proposals in one term: the first one counts
    }
    return key_.sign(vote_bytes(config_.run, term, digest_of(record)));
}

bool Voter::extends_head(const CommitRecord& record) const {
    return extends(head_, record);
}

bool Voter::is_decided(const CommitRecord& record, const Certificate& certificate) const {
    if (record.generation != head_.generation) return false;
    if (record.step < head_.step) {
        const auto it = decided_.find(record.step);
        return it != decided_.end() && it->second == digest_of(record);
    }
    return extends_head(record) &&
           is_certified(config_.run, head_, config_.backbone, record, certificate);
}

void Voter::remember(const CommitRecord& record) {
    decided_[record.step] = digest_of(record);
    if (decided_.size() > kRememberedDecisions) decided_.erase(decided_.begin());
}

void Voter::advance(const CommitRecord& record, bool was_ready) {
    DEDLOC_CHECK(extends_head(record), "a decision follows the one before", record.step.value());
    remember(record);
    head_ = head_after(record);
    state_.generation = head_.generation;
    state_.step = head_.step;
    state_.accepted.reset();
    state_.accepted_in = {};
    state_.may_vote = was_ready && is_in_view(key_.public_key());
    has_changed_ = true;
}

void Voter::adopt(const Head& head) {
    head_ = head;
    decided_.clear();
    state_.generation = head.generation;
    state_.step = head.step;
    state_.accepted.reset();
    state_.accepted_in = {};
    state_.may_vote = false;
    has_changed_ = true;
}

bool Voter::begin(const SignedGeneration& generation) {
    const GenerationRecord& record = generation.record;
    if (record.generation <= head_.generation) return false;
    if (!is_signed(config_.run, config_.project, generation)) return false;
    generation_ = generation;
    adopt(head_after(config_.run, record));
    origin_ = head_.record;
    // A new history has new terms, and one voter that has forgotten nothing of it.
    state_.promised = {};
    state_.may_vote = is_in_view(key_.public_key());
    return true;
}

std::optional<Digest> Voter::record_before(StepIndex step) const {
    if (step == head_.step) return head_.record;
    if (step == first_step()) return origin_;
    const auto known =
        step == StepIndex{0} ? decided_.end() : decided_.find(StepIndex{step.value() - 1});
    if (known == decided_.end()) return {};
    return known->second;
}

StepIndex Voter::first_step() const {
    return generation_ && generation_->record.generation == head_.generation
               ? generation_->record.step
               : StepIndex{0};
}

std::optional<VoterState> Voter::take_change() {
    if (!std::exchange(has_changed_, false)) return {};
    return state_;
}

void Voter::check_invariants() const {
    DEDLOC_CHECK(!state_.may_vote || is_in_view(key_.public_key()), "who votes is in the view");
    DEDLOC_CHECK(state_.step == head_.step && state_.generation == head_.generation,
                 "a vote is about the next round", state_.step.value());
    DEDLOC_CHECK(!state_.accepted || extends_head(*state_.accepted), "a vote follows the head");
    DEDLOC_CHECK(std::is_sorted(head_.view.begin(), head_.view.end()), "a view is in order");
}

}  // namespace dedloc::membership
