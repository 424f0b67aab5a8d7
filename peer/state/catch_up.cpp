// A fetch is driven by three questions, each answered by one function from the targets (aims_), the
// decided head (head_) and this peer's state (own_): is_at_aim() ends the fetch, wants_rounds()
// selects rounds or a whole state, and choose_state() selects the state to download.
//
// A round is handed over as soon as it is complete, before the next one is requested; own_.step
// counts it at once, so it may be ahead of the trainer. A state download may change its target, and
// rebase() keeps the leaves that are equal in both states. With verified leaves it changes its
// target only when no donor of it is left and all queried donors have answered or timed out.
#include "peer/state/catch_up.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "kernels/digest.hpp"
#include "peer/base/check.hpp"
#include "peer/state/average_tree.hpp"
#include "peer/state/model_state.hpp"
#include "peer/state/packed_average.hpp"

namespace dedloc::state {
namespace {

constexpr std::size_t kRememberedTargets = 32;
constexpr std::uint32_t kMaxLoaded = 2;  // states loaded in one attempt to reach the goal
constexpr std::uint64_t kMaxStates = 6;  // bytes received in one attempt
constexpr Duration kFirstRest = std::chrono::minutes{1};
constexpr Duration kLongestRest = std::chrono::minutes{16};

std::string text(StepIndex step) {
    return std::to_string(step.value());
}

}  // namespace

CatchUp::CatchUp(const RoundRules& rules, Candidates candidates, IsDecided is_decided,
                 IsProven is_proven, Random random)
    : rules_(rules),
      candidates_(std::move(candidates)),
      is_decided_(std::move(is_decided)),
      is_proven_(std::move(is_proven)),
      random_(random),
      pace_(packed_bytes(rules.codec, rules.elements)),
      rest_(kFirstRest) {}

// --- targets -----------------------------------------------------------------

void CatchUp::remember(const StateCertificate& target) {
    aims_.insert_or_assign(target.step, target);
    if (aims_.size() > kRememberedTargets) aims_.erase(aims_.begin());
}

void CatchUp::enter_generation(std::uint64_t generation) {
    if (generation == generation_) return;
    generation_ = generation;
    head_ = StepIndex{0};
    aims_.clear();
    pace_.forget_steps();
    if (is_asking()) stop();
}

void CatchUp::follow(std::uint64_t generation, StepIndex head) {
    if (generation < generation_) return;
    enter_generation(generation);
    head_ = head;
}

void CatchUp::aim(TimePoint now, const StateCertificate& target, Outbox& out) {
    if (target.generation < generation_) return;
    enter_generation(target.generation);
    pace_.decided(now, target.step);
    remember(target);
    if (!is_asking() || fetched_) return;
    const bool is_damaged =
        knows_own_state_ && own_.step == target.step && own_.state != target.state;
    if (mode_ == Mode::kRounds && is_damaged) return enter(now, Mode::kState, out);
    if (mode_ == Mode::kState) choose_state(now, out);
}

StepIndex CatchUp::goal() const {
    return aims_.empty() ? head_ : std::max(head_, aims_.rbegin()->first);
}

const StateCertificate* CatchUp::aim_at(StepIndex step) const {
    const auto found = aims_.find(step);
    return found == aims_.end() ? nullptr : &found->second;
}

bool CatchUp::is_at_aim() const {
    if (!own_.has_state || own_.generation != generation_) return false;
    if (own_.step != goal()) return own_.step > goal();
    const StateCertificate* same = aim_at(own_.step);
    return !same || !knows_own_state_ || own_.state == same->state;
}

bool CatchUp::is_news(StepIndex step) const {
    if (!own_.has_state || own_.generation != generation_) return true;
    const StateCertificate* same = aim_at(own_.step);
    const bool is_damaged = same && knows_own_state_ && same->state != own_.state;
    return is_damaged || step > own_.step;
}

bool CatchUp::wants_rounds() const {
    if (!own_.has_state || own_.generation != generation_ || own_.step >= goal()) return false;
    if ((goal() - own_.step).value() > rules_.kept_averages) {
        const auto candidates = candidates_();
        const auto may_give = [this](const DonorCandidate& c) { return may_retain(c); };
        if (std::ranges::none_of(candidates, may_give)) return false;
    }
    const StateCertificate* same = aim_at(own_.step);
    return !same || !knows_own_state_ || same->state == own_.state;
}

// --- modes -------------------------------------------------------------------

void CatchUp::begin(TimePoint now, const Own& own, Outbox& out) {
    if (is_active() || rests_until_ != kNever) return;
    pace_.begin();
    loaded_ = 0;
    own_ = own;
    knows_own_state_ = own.has_state;
    distrusts_own_ = false;
    liars_.clear();
    proceed(now, out);
}

void CatchUp::proceed(TimePoint now, Outbox& out) {
    if (is_at_aim()) return finish();
    enter(now, wants_rounds() ? Mode::kRounds : Mode::kState, out);
}

void CatchUp::enter(TimePoint now, Mode mode, Outbox& out) {
    round_.reset();
    listing_.reset();
    if (!bytes_) download_.reset();
    givers_.clear();
    mode_ = mode;
    if (mode == Mode::kState) choose_state(now, out);
    if (is_asking() && !has_donors()) ask(now, out);
}

void CatchUp::forget_fetch() {
    asked_.clear();
    awaited_.clear();
    offers_.clear();
    givers_.clear();
    ask_again_ = kNever;
    own_leaves_until_ = kNever;
    listing_.reset();
    download_.reset();
    round_.reset();
    bytes_.reset();
}

void CatchUp::go_idle() {
    forget_fetch();
    liars_.clear();
    mode_ = Mode::kIdle;
}

void CatchUp::stop() {
    if (mode_ != Mode::kLoading) go_idle();
    fetched_.reset();
}

void CatchUp::finish() {
    rest_ = kFirstRest;
    go_idle();
}

void CatchUp::rest(TimePoint now, const std::string& why, Outbox& out) {
    using std::chrono::ceil, std::chrono::seconds;
    const std::string pace = pace_.text();
    const std::string between = why.empty() || pace.empty() ? "" : "; it ";
    out.note("this peer cannot follow the swarm: it " + why + between + pace +
             ". It tries again in " + std::to_string(ceil<seconds>(rest_).count()) + " s");
    go_idle();
    rests_until_ = now + rest_;
    rest_ = std::min(2 * rest_, kLongestRest);
}

void CatchUp::reached(TimePoint now, StepIndex step, const Digest& state, Outbox& out) {
    if (!is_active()) return;
    const StateCertificate* same = aim_at(step);
    if (mode_ == Mode::kLoading) {
        if (step != target_.step || state != target_.state) return;
        own_.has_state = knows_own_state_ = true;
        own_.generation = target_.generation;
        own_.step = step;
        own_.state = state;
        if (own_.generation != generation_) return go_idle();
        return proceed(now, out);
    }
    const bool is_damaged = same && same->state != state;
    // Without a state, own_.step is the step of the head.
    if (is_damaged || !own_.has_state || step >= own_.step) {
        own_.has_state = knows_own_state_ = true;
        own_.step = step;
        own_.state = state;
    }
    if ((mode_ == Mode::kRounds || fetched_) && is_damaged) {
        out.note("this peer's state of step " + text(step) + " is not the certified one");
        fetched_.reset();
        return enter(now, Mode::kState, out);
    }
    if (is_asking() && !fetched_ && !is_damaged && is_at_aim()) finish();
}

void CatchUp::refused(TimePoint now, Outbox& out) {
    if (mode_ != Mode::kLoading) return;
    out.note("the state of step " + text(target_.step) + " was refused: fetching it again");
    distrusts_own_ = true;
    --loaded_;
    enter(now, Mode::kState, out);
}

// --- whole states ------------------------------------------------------------

bool CatchUp::is_aimed(const Offer& offer) const {
    if (bytes_ && offer.step == target_.step && offer.root == target_.state) return true;
    const StateCertificate* aim = aim_at(offer.step);
    return aim && aim->state == offer.root;
}

bool CatchUp::is_proven(const PeerKey& from, const Offer& offer, Outbox& out) {
    if (is_aimed(offer)) return true;
    const StateCertificate target{.generation = generation_,
                                  .step = offer.step,
                                  .record = offer.state.record,
                                  .state = offer.root,
                                  .votes = offer.state.votes};
    if (!aim_at(offer.step) && is_proven_(target)) {
        remember(target);
        return true;
    }
    out.note(from.brief() + " offers a state of step " + text(offer.step) +
             " that its certificate does not prove");
    return false;
}

void CatchUp::offered(TimePoint now, const PeerKey& from, StepIndex step,
                      const wire::StateOffer& offer, Outbox& out) {
    if (!is_asking() || !asked_.contains(from) || liars_.contains(from)) return;
    if (download_ && download_->has_donor(from)) return;
    const bool is_listed = has_pages(offer.leaves, offer.bytes);
    if (offer.bytes != rules_.state_bytes() ||
        (!is_listed && offer.leaves.size() != kernels::leaf_count(offer.bytes))) {
        out.note(from.brief() + " offers a state of another model");
        return answered(now, from, out);
    }
    if (!is_news(step)) return answered(now, from, out);
    if (is_listed) {
        // While rounds may be had, no list of a state is fetched.
        if (mode_ == Mode::kState) list_first(now, from, step, offer, offer.leaves, offer.bytes);
        answered(now, from, out);
        return go_on(now, out);
    }
    Offer entry{.at = now,
                .step = step,
                .state = offer,
                .root = state_digest(step, offer.leaves, offer.bytes),
                .list = {}};
    if (offers_.size() < kMaxOffers && is_proven(from, entry, out)) {
        offers_.insert_or_assign(from, std::move(entry));
    }
    answered(now, from, out);
}

void CatchUp::join_donors(TimePoint now) {
    if (!bytes_) return;
    for (auto it = offers_.begin(); it != offers_.end();) {
        const Offer& offer = it->second;
        if (offer.step != target_.step || offer.root != target_.state) {
            ++it;
            continue;
        }
        download_->add_donor(now, it->first);
        givers_.insert(it->first);
        it = offers_.erase(it);
    }
}

void CatchUp::choose_state(TimePoint now, Outbox& out) {
    if (loaded_ >= kMaxLoaded) {
        return rest(now, "has loaded " + std::to_string(loaded_) + " states and is behind again",
                    out);
    }
    join_donors(now);
    std::map<StepIndex, std::size_t> donors;
    for (const auto& [peer, offer] : offers_) {
        if (is_aimed(offer) && is_news(offer.step)) ++donors[offer.step];
    }
    // Prefer this peer's own step, as only the damaged leaves are missing there; then the state
    // with the most donors; then the newest.
    const auto rank = [&](const auto& entry) {
        return std::tuple{own_.has_state && entry.first == own_.step, entry.second, entry.first};
    };
    const auto best = std::max_element(donors.begin(), donors.end(),
                                       [&](auto& a, auto& b) { return rank(a) < rank(b); });
    if (best != donors.end()) {
        const bool is_fresh =
            !download_ || (download_->verified() == 0 && own_leaves_until_ == kNever);
        const bool is_better = !download_ || best->second > download_->donor_count() ||
                               (own_.has_state && best->first == own_.step);
        // Before verified leaves are abandoned, wait for all answers: another donor may hold that
        // state.
        const bool is_settled = !has_donors() && (awaited_.empty() || now >= ask_again_);
        if ((is_fresh && is_better) || is_settled) start_state(now, best->first, out);
    }
    go_on(now, out);
}

void CatchUp::start_state(TimePoint now, StepIndex step, Outbox& out) {
    const auto found = std::find_if(offers_.begin(), offers_.end(), [&](const auto& o) {
        return o.second.step == step && is_aimed(o.second);
    });
    const StateCertificate* aim = aim_at(step);
    DEDLOC_CHECK(found != offers_.end() && aim && aim->state == found->second.root,
                 "only a certified target is fetched", step.value());
    const Offer& offer = found->second;
    target_ = *aim;
    Tree tree{.step = offer.step,
              .root = offer.root,
              .leaves = offer.state.leaves,
              .bytes = offer.state.bytes};
    if (download_) {
        download_->rebase(std::move(tree));
    } else {
        bytes_ = std::make_shared<Buffer>(static_cast<std::size_t>(tree.bytes));
        download_.emplace(std::move(tree), *bytes_, leaf_time_);
    }
    list_ = offer.list;
    givers_.clear();
    join_donors(now);
    own_leaves_until_ = kNever;
    if (own_.has_state && own_.step == target_.step && !distrusts_own_) {
        own_leaves_until_ = now + rules_.failure_timeout;
        out.act(action::TakeSnapshot{});
    }
}

void CatchUp::own_snapshot(TimePoint now, const event::SnapshotTaken& snapshot, Outbox& out) {
    if (own_leaves_until_ == kNever || snapshot.step != target_.step) return;
    own_leaves_until_ = kNever;
    const std::vector<Digest>& wanted = download_->tree().leaves;
    DEDLOC_CHECK(snapshot.bytes && snapshot.bytes->size() == bytes_->size() &&
                     snapshot.leaves.size() == wanted.size(),
                 "a snapshot is a whole state");
    std::uint32_t differing = 0;
    std::uint32_t first = 0;
    for (std::uint32_t leaf = 0; leaf < download_->leaf_count(); ++leaf) {
        if (snapshot.leaves[leaf] == wanted[leaf]) {
            Buffer data(download_->leaf_size(leaf));
            snapshot.bytes->read(std::uint64_t{leaf} * kernels::kLeafBytes, data);
            download_->adopt(leaf, data);
        } else if (differing++ == 0) {
            first = leaf;
        }
    }
    out.note(std::to_string(differing) + " of " + std::to_string(wanted.size()) +
             " leaves of the own state of step " + text(target_.step) + " differ" +
             (differing > 0 ? ", the first is leaf " + std::to_string(first) : std::string{}));
    go_on(now, out);
}

void CatchUp::finish_state(Outbox& out) {
    out.act(
        action::Load{.step = target_.step, .digest = target_.state, .bytes = std::move(bytes_)});
    forget_fetch();
    ++loaded_;
    mode_ = Mode::kLoading;
}

// --- leaves ------------------------------------------------------------------

void CatchUp::go_on(TimePoint now, Outbox& out) {
    if (listing_) listing_->download.request(now, out);
    if (!download_ || own_leaves_until_ != kNever) return;
    if (!download_->is_complete()) return download_->request(now, out);
    if (mode_ == Mode::kRounds) return finish_round(now);
    finish_state(out);
}

void CatchUp::received(TimePoint now, const PeerKey& from, const wire::Leaf& leaf, Outbox& out) {
    if (listing_ && leaf.root == listing_->download.tree().root) {
        return received_page(now, from, leaf, out);
    }
    if (!download_ || leaf.root != download_->tree().root) return;
    std::span<const std::byte> data{leaf.data};
    FloatVector values;
    if (round_ && leaf.leaf < download_->leaf_count()) {
        // A leaf that is not packed has another size.
        values.resize(download_->leaf_size(leaf.leaf) / sizeof(float));
        if (unpack(rules_.codec, data, values)) data = std::as_bytes(std::span{values});
    }
    const Download::Outcome outcome = download_->received(now, from, leaf.leaf, data);
    leaf_time_ = download_->leaf_time();
    if (outcome == Download::Outcome::kVerified) {
        ++progress_;
        pace_.received(now, leaf.data.size());
        if (asked_.contains(from)) asked_[from] = 0;
    }
    if (outcome == Download::Outcome::kLie) lie(now, from, leaf.leaf, out);
    if (outcome == Download::Outcome::kGone) download_->drop_donor(from);
    if (pace_.is_hopeless()) return rest(now, "", out);
    if (pace_.received_bytes() > kMaxStates * rules_.state_bytes()) {
        return rest(now,
                    "has received " + std::to_string(kMaxStates) +
                        " times the bytes of a state and is still behind",
                    out);
    }
    go_on(now, out);
    without_donors(now, out);
}

void CatchUp::check_invariants() const {
    DEDLOC_CHECK(aims_.size() <= kRememberedTargets, "targets are bounded", aims_.size());
    DEDLOC_CHECK(!fetched_ || (asked_.empty() && !download_),
                 "nothing is requested while a complete round waits to be taken");
    DEDLOC_CHECK(is_asking() || !download_, "a download belongs to a fetch");
    DEDLOC_CHECK(!(bytes_ && round_), "a state and a round are not fetched together");
    DEDLOC_CHECK(download_.has_value() == (bytes_ || round_), "a download has a buffer to fill");
    DEDLOC_CHECK(own_leaves_until_ == kNever || bytes_,
                 "own leaves are only awaited for a state download");
    DEDLOC_CHECK(mode_ != Mode::kRounds || !bytes_, "no state is fetched together with rounds");
    DEDLOC_CHECK(loaded_ <= kMaxLoaded, "states loaded without success are bounded", loaded_);
    for (const PeerKey& peer : awaited_) {
        DEDLOC_CHECK(asked_.contains(peer), "an awaited donor has been queried", peer.brief());
    }
    for (const auto& [peer, offer] : offers_) {
        DEDLOC_CHECK(asked_.contains(peer), "an offer comes from a queried donor", peer.brief());
    }
    DEDLOC_CHECK(!listing_ || is_asking(), "a list belongs to a fetch");
    if (listing_) listing_->download.check_invariants();
    if (!download_) return;
    for (const PeerKey& peer : download_->donors()) {
        DEDLOC_CHECK(!liars_.contains(peer), "a donor that sent a wrong leaf is dropped",
                     peer.brief());
    }
    download_->check_invariants();
}

}  // namespace dedloc::state
