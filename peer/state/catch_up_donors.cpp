// CatchUp's choice of donors, its queries and retries, and its handling of failed donors.
//
// pick_donors() sorts candidates by the number of queries since their last verified leaf, so donors
// that never deliver come last, and so do donors that may drop the wanted round meanwhile.
// Non-voters come before voters, donors that hold the wanted step before others; ties are random.
// Up to four donors serve a download. If all of them are lost, others are queried at most once a
// heartbeat; at most ten times as often when heartbeats tell of peers that could give. If no
// queried donor offers the round, the fetch turns to a whole state, and back to rounds if no donor
// offers a certified state either.
#include <algorithm>
#include <tuple>
#include <utility>

#include "peer/state/catch_up.hpp"
#include "peer/state/packed_average.hpp"

namespace dedloc::state {
namespace {

constexpr std::size_t kDonors = 4;
/// Donors that sent a wrong leaf may be queried again after this many failure timeouts, if there is
/// no other candidate.
constexpr int kAmnesty = 4;
/// Queries in a heartbeat's time at most.
constexpr int kQueriesByNews = 10;

}  // namespace

/// How many more rounds the candidate may decide before it drops the one at own_.step; negative: it
/// has dropped it already, by its last heartbeat.
std::int64_t CatchUp::rounds_to_spare(const DonorCandidate& candidate) const {
    const std::int64_t retained =
        candidate.is_backbone ? rounds_of_a_state(rules_) : rules_.kept_averages;
    return retained - static_cast<std::int64_t>((candidate.step - own_.step).value());
}

bool CatchUp::may_retain(const DonorCandidate& candidate) const {
    return candidate.generation == generation_ && candidate.step > own_.step &&
           rounds_to_spare(candidate) >= 0;
}

bool CatchUp::could_give(const DonorCandidate& candidate) const {
    if (candidate.generation != generation_ || !candidate.has_state) return false;
    if (liars_.contains(candidate.peer) || offers_.contains(candidate.peer)) return false;
    if (download_ && download_->has_donor(candidate.peer)) return false;
    if (listing_ && listing_->download.has_donor(candidate.peer)) return false;
    if (mode_ == Mode::kRounds) return may_retain(candidate);
    const StateCertificate* aim = aim_at(candidate.step);
    if (aim && aim->state != candidate.state) return false;
    // An additional donor is useful only if it holds the same state.
    return !has_donors() || candidate.step == target_.step || givers_.contains(candidate.peer);
}

StepIndex CatchUp::wanted_from(const DonorCandidate& donor) const {
    if (mode_ == Mode::kRounds) return own_.step;
    if (bytes_) return target_.step;
    const bool is_old = donor.step.value() > goal().value() + rules_.kept_averages;
    return is_old ? donor.step : goal();
}

std::vector<DonorCandidate> CatchUp::pick_donors() {
    // Donors that did not deliver come last, so many of them cannot hide one that would.
    using Rank = std::tuple<std::uint32_t, bool, bool, bool, std::uint64_t>;
    const StepIndex wanted = bytes_ ? target_.step : goal();
    std::vector<std::pair<Rank, DonorCandidate>> ranked;
    for (const DonorCandidate& c : candidates_()) {
        if (!could_give(c)) continue;
        const auto asked = asked_.find(c.peer);
        // A heartbeat may be a round old, and a fetch may last a round.
        const bool may_drop = mode_ == Mode::kRounds && rounds_to_spare(c) == 0;
        const std::uint32_t queries = asked == asked_.end() ? 0 : asked->second;
        ranked.emplace_back(Rank{queries, may_drop, c.is_voter, c.step != wanted, random_.next()},
                            c);
    }
    std::ranges::sort(ranked, {}, [](const auto& entry) { return entry.first; });
    const std::size_t free_slots =
        kDonors - std::min(kDonors, download_ ? download_->donor_count() : 0);
    if (ranked.size() > free_slots) ranked.resize(free_slots);
    std::vector<DonorCandidate> picked;
    for (auto& [rank, candidate] : ranked) picked.push_back(candidate);
    return picked;
}

void CatchUp::ask(TimePoint now, Outbox& out) {
    std::erase_if(offers_,
                  [&](const auto& o) { return now - o.second.at >= rules_.failure_timeout; });
    const std::vector<DonorCandidate> picked = pick_donors();
    if (picked.empty() && !has_donors() && now - lied_at_ >= kAmnesty * rules_.failure_timeout) {
        liars_.clear();
    }
    asked_at_ = now;
    awaited_.clear();
    const bool is_round = mode_ == Mode::kRounds;
    for (const DonorCandidate& donor : picked) {
        ++asked_[donor.peer];
        awaited_.insert(donor.peer);
        out.send(donor.peer, wanted_from(donor), wire::StateQuery{.has_state = is_round});
    }
    ask_again_ =
        now + (picked.empty() && !has_donors() ? rules_.heartbeat : rules_.failure_timeout);
}

void CatchUp::answered(TimePoint now, const PeerKey& from, Outbox& out) {
    awaited_.erase(from);
    if (mode_ == Mode::kRounds && awaited_.empty() && !has_donors()) {
        return enter(now, Mode::kState, out);  // no queried donor retains the round
    }
    if (mode_ == Mode::kState) choose_state(now, out);
    without_donors(now, out);
}

void CatchUp::lie(TimePoint now, const PeerKey& donor, std::uint32_t leaf, Outbox& out) {
    out.note(donor.brief() + " sends a leaf " + std::to_string(leaf) + " of step " +
             std::to_string(download_->tree().step.value()) +
             " with a wrong digest; this donor is dropped");
    liars_.insert(donor);
    lied_at_ = now;
    givers_.erase(donor);
    download_->drop_donor(donor);
}

void CatchUp::without_donors(TimePoint now, Outbox& out) {
    if (!is_asking() || fetched_ || has_donors() || !awaited_.empty()) return;
    pace_.interrupt();
    const TimePoint due = asked_at_ + rules_.heartbeat;
    if (now >= due) return ask(now, out);
    ask_again_ = std::min(ask_again_, due);
}

void CatchUp::heard(TimePoint now, const PeerKey& peer) {
    if (!is_asking() || fetched_ || has_donors() || !awaited_.empty() || now >= ask_again_) return;
    const auto candidates = candidates_();
    const auto its = std::ranges::find(candidates, peer, &DonorCandidate::peer);
    // A peer that is too far ahead to give rounds may give a state.
    const bool is_in_vain = mode_ == Mode::kRounds && !wants_rounds();
    if (its == candidates.end() || (!is_in_vain && !could_give(*its))) return;
    ask_again_ = std::min(ask_again_, asked_at_ + rules_.heartbeat / kQueriesByNews);
}

void CatchUp::drop_stalled(TimePoint now, Outbox& out) {
    if (listing_) {
        for (const PeerKey& peer : listing_->download.stalled(now, rules_.failure_timeout)) {
            out.note(peer.brief() + " has stopped sending the leaf digests of step " +
                     std::to_string(listing_->step.value()) + "; other donors are asked");
            drop_from_list(peer);
        }
    }
    if (!download_) return;
    for (const PeerKey& peer : download_->stalled(now, rules_.failure_timeout)) {
        out.note(peer.brief() + " has stopped sending leaves of step " +
                 std::to_string(download_->tree().step.value()) + "; other donors are asked");
        download_->drop_donor(peer);
    }
}

void CatchUp::lost(TimePoint now, const PeerKey& peer, Outbox& out) {
    if (!is_asking()) return;
    offers_.erase(peer);
    givers_.erase(peer);
    if (download_) download_->drop_donor(peer);
    drop_from_list(peer);
    awaited_.erase(peer);
    asked_.erase(peer);
    if (mode_ == Mode::kState) choose_state(now, out);
    go_on(now, out);
    without_donors(now, out);
}

void CatchUp::advance(TimePoint now, Outbox& out) {
    if (now >= rests_until_) rests_until_ = kNever;
    if (!is_asking() || fetched_) return;
    if (now >= own_leaves_until_) own_leaves_until_ = kNever;
    drop_stalled(now, out);
    if (now >= ask_again_) {
        const bool is_in_vain = !awaited_.empty() || !wants_rounds();
        if (mode_ == Mode::kRounds && !has_donors() && is_in_vain) {
            return enter(now, Mode::kState, out);
        }
        if (mode_ == Mode::kState) choose_state(now, out);
        // No certified state is offered, but a donor may retain the round by now.
        if (mode_ == Mode::kState && !has_donors() && !bytes_ && wants_rounds()) {
            return enter(now, Mode::kRounds, out);
        }
        if (is_asking()) ask(now, out);
    }
    go_on(now, out);
    without_donors(now, out);
}

TimePoint CatchUp::next_deadline() const {
    if (!is_asking() || fetched_) return rests_until_;
    TimePoint next = std::min(ask_again_, own_leaves_until_);
    if (download_) next = std::min(next, download_->next_deadline(rules_.failure_timeout));
    if (listing_) next = std::min(next, listing_->download.next_deadline(rules_.failure_timeout));
    return next;
}

}  // namespace dedloc::state
