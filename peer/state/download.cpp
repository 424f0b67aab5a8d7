// Each leaf is in exactly one of three states: held (has_), requested (askers_ > 0) or missing
// (missing_). request() deals missing leaves to donors round robin and, once none is missing,
// starts the end game: it repeats requests for the leaves that are expected last.
//
// A donor's pace is a smoothed time between its answers. When another donor delivers a leaf that
// this one owes, its pace is raised to at least the time that it has taken so far; this keeps an
// overtaken donor from looking fast.
//
// If this peer's link is slower than its n donors' links, each donor's answer takes as long as n
// leaves, and the donor whose leaf comes last looks slow. A repeated request would add to what is
// queued at the link. So the time between arrivals from any donors is measured too: while it is not
// exceeded, the end game waits, and no donor has stalled.
#include "peer/state/download.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "kernels/digest.hpp"
#include "peer/base/check.hpp"
#include "peer/state/average_tree.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::state {
namespace {

static_assert(wire::kLeafBytes == kernels::kLeafBytes,
              "a Leaf message carries one leaf of the digest tree");

/// Leaves that a donor owes before its speed is known, and the time for which it owes them then.
constexpr std::size_t kFirstWindow = 2;
constexpr Duration kAhead = std::chrono::seconds{2};
/// The interval at which the end game is checked while no leaf arrives. Also the least time that a
/// donor of unknown pace is expected to need for a leaf.
constexpr Duration kLook = std::chrono::milliseconds{250};
/// The end game repeats a request only if the present donors need more than this many times as
/// long. With a lower factor, equally fast donors would send the last leaves twice.
constexpr int kSlower = 2;

}  // namespace

Download::Download(Tree tree, std::span<std::byte> target, Duration leaf_time)
    : tree_(std::move(tree)), target_(target), leaf_time_(leaf_time) {
    DEDLOC_CHECK(target_.size() == tree_.bytes, "a download's buffer has the size of the array",
                 target_.size(), tree_.bytes);
    DEDLOC_CHECK(tree_.leaves.size() == kernels::leaf_count(tree_.bytes),
                 "a tree has one leaf for each 256 KiB", tree_.leaves.size(), tree_.bytes);
    has_.resize(tree_.leaves.size());
    askers_.resize(tree_.leaves.size());
    for (std::uint32_t leaf = 0; leaf < leaf_count(); ++leaf) missing_.insert(leaf);
}

void Download::rebase(Tree tree) {
    DEDLOC_CHECK(tree.bytes == tree_.bytes && tree.leaves.size() == tree_.leaves.size(),
                 "all states of a model have the same size", tree.bytes, tree_.bytes);
    donors_.clear();
    looked_at_ = kNever;
    for (std::uint32_t leaf = 0; leaf < leaf_count(); ++leaf) {
        askers_[leaf] = 0;
        if (has_[leaf] && tree.leaves[leaf] == tree_.leaves[leaf]) continue;
        if (has_[leaf]) --verified_;
        has_[leaf] = false;
        missing_.insert(leaf);
    }
    tree_ = std::move(tree);
}

std::size_t Download::leaf_size(std::uint32_t leaf) const {
    const std::uint64_t first = std::uint64_t{leaf} * kernels::kLeafBytes;
    return static_cast<std::size_t>(
        std::min<std::uint64_t>(kernels::kLeafBytes, tree_.bytes - first));
}

std::span<std::byte> Download::place(std::uint32_t leaf) const {
    return target_.subspan(std::size_t{leaf} * kernels::kLeafBytes, leaf_size(leaf));
}

void Download::mark(std::uint32_t leaf) {
    has_[leaf] = true;
    askers_[leaf] = 0;
    ++verified_;
    missing_.erase(leaf);
    for (auto& [peer, donor] : donors_) std::erase(donor.asked, leaf);
}

void Download::adopt(std::uint32_t leaf, std::span<const std::byte> data) {
    DEDLOC_CHECK(leaf < leaf_count() && data.size() == leaf_size(leaf),
                 "a leaf has a valid index and size", leaf, data.size());
    if (has_[leaf]) return;
    std::memcpy(place(leaf).data(), data.data(), data.size());
    mark(leaf);
}

void Download::add_donor(TimePoint now, const PeerKey& peer) {
    donors_.try_emplace(peer, Donor{.asked = {}, .since = now});
}

void Download::drop_donor(const PeerKey& peer) {
    const auto found = donors_.find(peer);
    if (found == donors_.end()) return;
    for (const std::uint32_t leaf : found->second.asked) {
        if (--askers_[leaf] == 0) missing_.insert(leaf);
    }
    donors_.erase(found);
}

std::vector<PeerKey> Download::donors() const {
    std::vector<PeerKey> all;
    for (const auto& [peer, donor] : donors_) all.push_back(peer);
    return all;
}

Download::Outcome Download::received(TimePoint now, const PeerKey& from, std::uint32_t leaf,
                                     std::span<const std::byte> data) {
    if (leaf >= leaf_count()) return Outcome::kIgnored;
    const auto found = donors_.find(from);
    const bool is_donor = found != donors_.end();
    if (data.empty()) return is_donor ? Outcome::kGone : Outcome::kIgnored;
    if (is_donor && std::erase(found->second.asked, leaf) > 0) {
        Donor& donor = found->second;
        if (--askers_[leaf] == 0) missing_.insert(leaf);
        arrived(now);
        const Duration gap = std::max(now - donor.since, Duration{1});
        donor.pace = donor.pace == Duration{0} ? gap : (3 * donor.pace + gap) / 4;
        donor.since = now;
    }
    if (has_[leaf]) return Outcome::kIgnored;
    // A donor that still owes this leaf is at least as slow as the time it has taken so far.
    for (auto& [peer, donor] : donors_) {
        const bool owes =
            std::find(donor.asked.begin(), donor.asked.end(), leaf) != donor.asked.end();
        if (owes) donor.pace = std::max(donor.pace, now - donor.since);
    }
    if (data.size() != leaf_size(leaf) || leaf_digest(data) != tree_.leaves[leaf]) {
        return is_donor ? Outcome::kLie : Outcome::kIgnored;
    }
    adopt(leaf, data);
    return Outcome::kVerified;
}

bool Download::is_owed_any() const {
    return std::ranges::any_of(donors_, [](const auto& d) { return !d.second.asked.empty(); });
}

void Download::arrived(TimePoint now) {
    const Duration gap = std::max(now - waits_since_, Duration{1});
    leaf_time_ = leaf_time_ == Duration{0} ? gap : (3 * leaf_time_ + gap) / 4;
    waits_since_ = now;
}

bool Download::is_arriving(TimePoint now) const {
    return now - waits_since_ < kSlower * leaf_time_;
}

void Download::ask(TimePoint now, const PeerKey& peer, Donor& donor, std::uint32_t leaf,
                   Outbox& out) {
    if (!is_owed_any()) waits_since_ = now;
    if (donor.asked.empty()) donor.since = now;
    donor.asked.push_back(leaf);
    ++askers_[leaf];
    missing_.erase(leaf);
    out.send(peer, tree_.step, wire::LeafRequest{.root = tree_.root, .leaf = leaf});
}

std::size_t Download::window(const Donor& donor) {
    if (donor.pace == Duration{0}) return kFirstWindow;
    return static_cast<std::size_t>(std::clamp<std::int64_t>(kAhead / donor.pace, 1, kWindow));
}

Duration Download::expected(TimePoint now, const Donor& donor, std::size_t position) {
    const Duration waiting = donor.asked.empty() ? Duration{0} : now - donor.since;
    return std::max(donor.pace, waiting) * static_cast<int>(position + 1);
}

bool Download::ask_again(TimePoint now, const PeerKey& peer, Donor& donor, Outbox& out) {
    // The earliest expected arrival of each requested leaf; 0 if this donor owes it.
    std::map<std::uint32_t, Duration> arrivals;
    for (const auto& [other, theirs] : donors_) {
        for (std::size_t k = 0; k < theirs.asked.size(); ++k) {
            const Duration time = other == peer ? Duration{0} : expected(now, theirs, k);
            const auto [entry, is_new] = arrivals.try_emplace(theirs.asked[k], time);
            entry->second = std::min(entry->second, time);
        }
    }
    const auto last = std::max_element(arrivals.begin(), arrivals.end(),
                                       [](auto& a, auto& b) { return a.second < b.second; });
    if (last == arrivals.end()) return false;
    const std::size_t position = donor.asked.size();
    const Duration here =
        std::max(expected(now, donor, position), donor.pace == Duration{0} ? kLook : Duration{0});
    if (last->second <= kSlower * here) return false;
    ask(now, peer, donor, last->first, out);
    return true;
}

void Download::request(TimePoint now, Outbox& out) {
    // Round robin, so that even a few leaves are spread over all donors.
    for (bool any = true; any && !missing_.empty();) {
        any = false;
        for (auto& [peer, donor] : donors_) {
            if (missing_.empty() || donor.asked.size() >= window(donor)) continue;
            ask(now, peer, donor, *missing_.begin(), out);
            any = true;
        }
    }
    looked_at_ = kNever;
    if (!missing_.empty() || is_complete() || donors_.size() < 2) return;
    looked_at_ = now;
    if (is_arriving(now)) return;
    for (auto& [peer, donor] : donors_) {
        while (donor.asked.size() < window(donor) && ask_again(now, peer, donor, out)) {
        }
    }
}

std::vector<PeerKey> Download::stalled(TimePoint now, Duration failure_timeout) const {
    std::vector<PeerKey> all;
    const Duration timeout = stall_timeout(failure_timeout);
    for (const auto& [peer, donor] : donors_) {
        if (!donor.asked.empty() && now - donor.since >= timeout) all.push_back(peer);
    }
    return all;
}

Duration Download::stall_timeout(Duration failure_timeout) const {
    // Windows above the first one are full of leaves that arrive within kAhead.
    return failure_timeout + static_cast<int>(kFirstWindow * donors_.size()) * leaf_time_;
}

TimePoint Download::next_deadline(Duration failure_timeout) const {
    TimePoint next = looked_at_ == kNever ? kNever : looked_at_ + kLook;
    const Duration timeout = stall_timeout(failure_timeout);
    for (const auto& [peer, donor] : donors_) {
        if (!donor.asked.empty()) next = std::min(next, donor.since + timeout);
    }
    return next;
}

void Download::check_invariants() const {
    std::vector<std::uint8_t> askers(leaf_count());
    for (const auto& [peer, donor] : donors_) {
        DEDLOC_CHECK(donor.asked.size() <= kWindow, "a donor owes at most kWindow leaves",
                     donor.asked.size());
        for (const std::uint32_t leaf : donor.asked) {
            DEDLOC_CHECK(!has_[leaf], "a verified leaf is not requested", leaf);
            ++askers[leaf];
        }
    }
    DEDLOC_CHECK(askers == askers_, "askers_ counts the requests for each leaf");
    std::uint32_t held = 0;
    for (std::uint32_t leaf = 0; leaf < leaf_count(); ++leaf) {
        held += has_[leaf] ? 1 : 0;
        const int places =
            (has_[leaf] ? 1 : 0) + (askers_[leaf] > 0 ? 1 : 0) + (missing_.contains(leaf) ? 1 : 0);
        DEDLOC_CHECK(places == 1, "each leaf is either held, requested or missing", leaf, places);
    }
    DEDLOC_CHECK(held == verified_, "verified_ counts the held leaves", held, verified_);
}

}  // namespace dedloc::state
