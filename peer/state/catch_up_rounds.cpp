// CatchUp's rounds: averages that were decided while this peer was behind. One is fetched at a
// time, and the caller applies it before the next one is requested.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "kernels/digest.hpp"
#include "peer/state/average_tree.hpp"
#include "peer/state/catch_up.hpp"

namespace dedloc::state {

bool CatchUp::is_usable(const wire::RoundOffer& offer) const {
    const std::uint64_t bytes = sizeof(float) * rules_.elements;
    return offer.leaves.size() == kernels::leaf_count(bytes) &&
           tree_root(offer.leaves, bytes) == offer.record.average &&
           is_decided_(offer.record, offer.certificate);
}

void CatchUp::offered(TimePoint now, const PeerKey& from, StepIndex step,
                      const wire::RoundOffer& offer, Outbox& out) {
    if (mode_ != Mode::kRounds || !asked_.contains(from) || liars_.contains(from)) return;
    const bool is_wanted = step == own_.step && offer.record.step == own_.step &&
                           offer.record.generation == own_.generation;
    if (!is_wanted) return;  // a late answer for a round that is complete
    const std::uint64_t bytes = sizeof(float) * rules_.elements;
    if (has_pages(offer.leaves, bytes) && is_decided_(offer.record, offer.certificate)) {
        list_first(now, from, step, offer, offer.leaves, bytes);
        awaited_.erase(from);
        return go_on(now, out);
    }
    if (round_ ? round_->record != offer.record : !is_usable(offer)) {
        out.note(from.brief() + " offers a round of step " + std::to_string(step.value()) +
                 " that is not the decided round");
        return answered(now, from, out);
    }
    if (!round_) {
        auto average = std::make_shared<FloatVector>(static_cast<std::size_t>(rules_.elements));
        round_ = Round{offer.record, offer.certificate, average};
        list_ = {};
        download_.emplace(
            Tree{
                .step = step, .root = offer.record.average, .leaves = offer.leaves, .bytes = bytes},
            std::as_writable_bytes(std::span{*average}), leaf_time_);
    }
    awaited_.erase(from);
    download_->add_donor(now, from);
    go_on(now, out);
}

void CatchUp::finish_round(TimePoint now) {
    own_.step = own_.step.next();
    ++progress_;
    knows_own_state_ = false;
    fetched_ = FetchedRound{std::move(round_->record), std::move(round_->certificate),
                            std::move(round_->average)};
    forget_fetch();
    if (is_at_aim()) return finish();
    mode_ = wants_rounds() ? Mode::kRounds : Mode::kState;
    ask_again_ = now;  // advance() waits until this round is taken
}

std::optional<FetchedRound> CatchUp::take_round() {
    return std::exchange(fetched_, std::nullopt);
}

}  // namespace dedloc::state
