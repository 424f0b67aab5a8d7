// Every event after which a waiting peer may be served calls serve_waiting(): a query, a
// certificate, a snapshot, a reached state, a passed deadline. It walks the waiting peers in the
// order of their first query, offers each the best available snapshot and stops when all places are
// taken; if no snapshot fits, it requests one and is called again when that arrives. end_of_turn()
// decides how long a peer keeps its place.
//
// Leaf requests are served from any held snapshot or retained round by digest, whether or not the
// peer has a turn. Leaf digests of a retained round are computed when it is packed, or at its first
// offer.
#include "peer/state/donor.hpp"

#include <algorithm>
#include <utility>

#include "kernels/digest.hpp"
#include "peer/base/check.hpp"
#include "peer/state/average_tree.hpp"
#include "peer/state/packed_average.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::state {
namespace {

constexpr std::size_t kMaxSnapshots = 2;
constexpr std::size_t kFetching = 4;  // max. peers that fetch a state at once
constexpr std::uint64_t kMinBytesPerSecond = 2 * wire::kLeafBytes;  // upload for each of them
constexpr std::size_t kMaxRequests = 16;  // per peer: twice what an honest peer requests
constexpr std::uint32_t kMaxQueries = 4;  // per peer and heartbeat, plus one for each kept round
// States that one peer is given at once, the time after which it may have another one, and how many
// peers are remembered: more than a run has members.
constexpr std::uint64_t kStatesOfOne = 16;
constexpr Duration kStateEvery = std::chrono::minutes{8};
constexpr std::size_t kMaxAllowances = 4 * wire::kMaxMembers;
constexpr std::uint64_t kAveragesOfOne = 2;   // times that one peer is given the same average
constexpr std::uint64_t kMinLeavesOfOne = 4;  // the least, if an average is short
constexpr std::size_t kMaxProofs = 8;         // a snapshot never arrives that many steps late

}  // namespace

// --- history -----------------------------------------------------------------

void Donor::begin(std::uint64_t generation) {
    reset();
    generation_ = generation;
    proofs_.clear();
    rounds_.clear();
}

void Donor::certified(TimePoint now, const StateCertificate& certificate, const Own& own,
                      Outbox& out) {
    if (certificate.generation != generation_) return;
    // A known certificate is replaced only by one with more votes.
    const auto known = proofs_.find(certificate.step);
    if (known != proofs_.end() && known->second.votes.size() >= certificate.votes.size()) return;
    proofs_.insert_or_assign(certificate.step, certificate);
    if (proofs_.size() > kMaxProofs) proofs_.erase(proofs_.begin());
    if (Snapshot* snapshot = snapshot_at(certificate.step)) {
        if (snapshot->state.digest == certificate.state) snapshot->proof = certificate;
    }
    if (!waiting_.empty()) serve_waiting(now, own, out);
}

SharedFloats Donor::keep(const CommitRecord& record, const Certificate& certificate,
                         SharedFloats average) {
    if (record.generation != generation_) return average;
    if (rules_.kept_averages == 0 || !average) return average;
    DEDLOC_CHECK(average->size() == rules_.elements, "an average has one element per parameter",
                 average->size(), rules_.elements);
    if (!rounds_.empty() && rounds_.back().record.step >= record.step) return nullptr;
    rounds_.push_back({.record = record,
                       .certificate = certificate,
                       .average = std::move(average),
                       .leaves = {},
                       .packed = {},
                       .list = {}});
    SharedFloats freed;
    if (rounds_.size() > rules_.kept_averages) {
        Round& oldest = rounds_[rounds_.size() - 1 - rules_.kept_averages];
        freed = retained_ > rules_.kept_averages ? pack_round(oldest) : std::move(oldest.average);
    }
    if (rounds_.size() > retained_) rounds_.pop_front();
    return freed;
}

std::optional<LeafList> Donor::list_if_long(std::span<const Digest> leaves) const {
    return leaves.size() > offered_leaves_ ? std::optional{list_of(leaves)} : std::nullopt;
}

bool Donor::digest_round(Round& round) const {
    if (!round.leaves.empty()) return true;
    round.leaves = average_leaves(*round.average, workers_);
    if (tree_root(round.leaves, sizeof(float) * rules_.elements) == round.record.average) {
        return true;
    }
    round.leaves.clear();
    return false;
}

SharedFloats Donor::pack_round(Round& round) const {
    if (!round.average || !digest_round(round)) return {};
    for (std::uint32_t leaf = 0; leaf < round.leaves.size(); ++leaf) {
        round.packed.push_back(leaf_of(round, leaf));
    }
    return std::exchange(round.average, nullptr);
}

const StateCertificate* Donor::proof_of(StepIndex step) const {
    const auto found = proofs_.find(step);
    return found == proofs_.end() ? nullptr : &found->second;
}

// --- queries -----------------------------------------------------------------

void Donor::queried(TimePoint now, const PeerKey& from, std::uint64_t generation, StepIndex step,
                    const wire::StateQuery& query, const Own& own, Outbox& out) {
    if (!may_ask(now, from)) return;
    if (query.has_state && generation == generation_) {
        if (offer_round(from, step, out) || own.step <= step) return;
    }
    if (own.has_state && own.generation != generation_) return;
    if (allowance_of(now, from).leaves == 0) return;
    const StepIndex wanted = query.has_state ? own.step : step;
    const auto known = waiting_.find(from);
    const TimePoint since = known == waiting_.end() ? now : known->second.since;
    waiting_.insert_or_assign(from, Waiting{.since = since, .asked_at = now, .step = wanted});
    serve_waiting(now, own, out);
}

/// A turn ends when the peer has been sent every leaf; when it has neither requested nor been sent
/// a leaf for a heartbeat and the time that a leaf takes, as it then fetches from other donors; and
/// two failure timeouts plus four times the expected duration after its beginning, as other peers
/// wait.
TimePoint Donor::end_of_turn(const PeerKey& peer) const {
    const Turn& turn = fetching_.at(peer);
    const std::uint64_t known = upload_ ? upload_->value() / places() : kMinBytesPerSecond;
    const std::uint64_t each = std::max(known, kMinBytesPerSecond / 64);
    const TimePoint limit = turn.since + 2 * rules_.failure_timeout +
                            std::chrono::seconds{4 * rules_.state_bytes() / each};
    if (queues_.contains(peer)) return limit;
    const bool has_all = turn.leaves >= kernels::leaf_count(rules_.state_bytes());
    const auto leaf = std::chrono::milliseconds{1'000 * wire::kLeafBytes / each};
    return std::min(limit, has_all ? turn.used_at : turn.used_at + rules_.heartbeat + leaf);
}

Donor::Allowance& Donor::allowance_of(TimePoint now, const PeerKey& peer) {
    const std::uint64_t state = kernels::leaf_count(rules_.state_bytes());
    const std::uint64_t max = kStatesOfOne * state;
    const auto [entry, is_new] = allowances_.try_emplace(peer, Allowance{max, now});
    Allowance& its = entry->second;
    // Whole intervals only, so that frequent calls lose nothing to rounding.
    const std::int64_t intervals = (now - its.since) / kStateEvery;
    its.since += intervals * kStateEvery;
    const auto states = std::min(static_cast<std::uint64_t>(intervals), kStatesOfOne);
    its.leaves = std::min(max, its.leaves + states * state);
    if (is_new && allowances_.size() > kMaxAllowances) {
        // The peer that has been given least loses nothing by it.
        auto fullest = allowances_.end();
        for (auto it = allowances_.begin(); it != allowances_.end(); ++it) {
            const bool is_fuller =
                fullest == allowances_.end() || it->second.leaves > fullest->second.leaves;
            if (it != entry && is_fuller) fullest = it;
        }
        allowances_.erase(fullest);
    }
    return its;
}

bool Donor::may_have(TimePoint now, const PeerKey& peer, const wire::LeafRequest& request) {
    if (snapshot_named(request.root) != nullptr) {
        std::uint64_t& left = allowance_of(now, peer).leaves;
        return left > 0 && left-- > 0;
    }
    for (Round& round : rounds_) {
        if (!round.is_named(request.root)) continue;
        const std::uint64_t max = std::max(kAveragesOfOne * round.leaves.size(), kMinLeavesOfOne);
        return ++round.given[peer] <= max;
    }
    return true;  // nothing that is held
}

std::size_t Donor::places() const {
    if (!upload_) return kFetching;
    return std::clamp<std::uint64_t>(upload_->value() / kMinBytesPerSecond, 1, kFetching);
}

void Donor::serve_waiting(TimePoint now, const Own& own, Outbox& out, Snapshot* taken) {
    if (own.has_state && own.generation != generation_) return;
    std::erase_if(waiting_, [&](const auto& w) {
        return now - w.second.asked_at >= 2 * rules_.failure_timeout;
    });
    std::erase_if(fetching_, [&](const auto& f) { return end_of_turn(f.first) <= now; });
    std::vector<std::pair<TimePoint, PeerKey>> line;
    for (const auto& [peer, waiting] : waiting_) {
        // A peer that has a turn and asks again has missed our offer.
        line.emplace_back(fetching_.contains(peer) ? TimePoint{} : waiting.since, peer);
    }
    std::sort(line.begin(), line.end());
    for (const auto& [since, peer] : line) {
        if (fetching_.size() >= places() && !fetching_.contains(peer)) return;
        Snapshot* snapshot = snapshot_at(waiting_.at(peer).step);
        if (!snapshot && own.has_state) snapshot = snapshot_at(own.step);
        if (!snapshot) snapshot = taken;
        if (snapshot) snapshot->last_used = now;
        // This snapshot is not the one that the peer wants, so it counts as used only when fetched.
        if (!snapshot && !free_snapshot(now)) snapshot = &snapshots_.back();
        if (!snapshot) return own.has_state ? take(now, out) : void();
        if (!snapshot->proof) continue;  // offered once its certificate is known
        offer(now, peer, *snapshot, out);
    }
}

bool Donor::may_ask(TimePoint now, const PeerKey& from) {
    Asked& asked = asked_.try_emplace(from, Asked{.since = now}).first->second;
    if (now - asked.since >= rules_.heartbeat) asked = Asked{.since = now};
    return ++asked.count <= kMaxQueries + retained_;
}

void Donor::take(TimePoint now, Outbox& out) {
    if (taking_since_ && now - *taking_since_ < 2 * rules_.failure_timeout) return;
    taking_since_ = now;
    out.act(action::TakeSnapshot{});
}

void Donor::state_changes(TimePoint now) {
    std::erase_if(snapshots_,
                  [&](const Snapshot& s) { return !is_busy(s, now, rules_.failure_timeout); });
}

void Donor::reached(TimePoint now, const Own& own, Outbox& out) {
    if (own.has_state && !waiting_.empty()) serve_waiting(now, own, out);
}

bool Donor::offer_round(const PeerKey& to, StepIndex step, Outbox& out) {
    const auto round = std::find_if(rounds_.begin(), rounds_.end(),
                                    [&](const Round& r) { return r.record.step == step; });
    if (round == rounds_.end()) return false;
    if (!digest_round(*round)) {
        out.note("the retained average of step " + std::to_string(step.value()) +
                 " has changed since it was decided: this machine's memory is unreliable");
        rounds_.erase(round);
        return false;
    }
    if (!round->list) round->list = list_if_long(round->leaves);
    out.send(to, step,
             wire::RoundOffer{.record = round->record,
                              .certificate = round->certificate,
                              .leaves = round->list ? round->list->pages : round->leaves});
    return true;
}

void Donor::offer(TimePoint now, const PeerKey& to, Snapshot& snapshot, Outbox& out) {
    waiting_.erase(to);
    fetching_.try_emplace(to, Turn{.since = now}).first->second.used_at = now;
    out.send(
        to, snapshot.state.step,
        wire::StateOffer{.bytes = snapshot.state.bytes->size(),
                         .leaves = snapshot.list ? snapshot.list->pages : snapshot.state.leaves,
                         .record = snapshot.proof->record,
                         .votes = snapshot.proof->votes});
}

// --- snapshots ---------------------------------------------------------------

bool Donor::is_of_history(const event::SnapshotTaken& snapshot, const Own& own) const {
    if (const StateCertificate* proof = proof_of(snapshot.step)) {
        return proof->state == snapshot.digest;
    }
    return own.has_state && own.generation == generation_ && own.step == snapshot.step &&
           own.state == snapshot.digest;
}

void Donor::snapshot_taken(TimePoint now, const event::SnapshotTaken& snapshot, const Own& own,
                           Outbox& out) {
    if (!taking_since_) return;
    taking_since_.reset();
    DEDLOC_CHECK(snapshot.bytes && snapshot.bytes->size() == rules_.state_bytes(),
                 "a snapshot is a whole state");
    DEDLOC_CHECK(snapshot.leaves.size() == kernels::leaf_count(snapshot.bytes->size()),
                 "a snapshot has one digest per leaf", snapshot.leaves.size());
    if (!is_of_history(snapshot, own)) {
        out.note("a snapshot of step " + std::to_string(snapshot.step.value()) +
                 " does not belong to this history; it is not offered");
        waiting_.clear();
        return;
    }
    const StateCertificate* proof = proof_of(snapshot.step);
    if (!snapshot_at(snapshot.step) && free_snapshot(now)) {
        snapshots_.push_back({.state = snapshot,
                              .proof = proof ? std::optional{*proof} : std::nullopt,
                              .last_used = now,
                              .list = list_if_long(snapshot.leaves)});
    }
    if (!snapshots_.empty()) serve_waiting(now, own, out, &snapshots_.back());
}

Donor::Snapshot* Donor::snapshot_at(StepIndex step) {
    for (Snapshot& snapshot : snapshots_) {
        if (snapshot.state.step == step) return &snapshot;
    }
    return nullptr;
}

Donor::Snapshot* Donor::snapshot_named(const Digest& root) {
    for (Snapshot& snapshot : snapshots_) {
        if (snapshot.is_named(root)) return &snapshot;
    }
    return nullptr;
}

bool Donor::is_busy(const Snapshot& snapshot, TimePoint now, Duration timeout) const {
    if (now - snapshot.last_used < timeout) return true;
    return std::any_of(queues_.begin(), queues_.end(), [&](const auto& queue) {
        return std::any_of(queue.second.begin(), queue.second.end(),
                           [&](const auto& request) { return snapshot.is_named(request.root); });
    });
}

bool Donor::free_snapshot(TimePoint now) {
    if (snapshots_.size() < kMaxSnapshots) return true;
    const auto idle = std::find_if(snapshots_.begin(), snapshots_.end(), [&](const Snapshot& s) {
        return !is_busy(s, now, rules_.failure_timeout);
    });
    if (idle == snapshots_.end()) return false;
    snapshots_.erase(idle);
    return true;
}

// --- leaves ------------------------------------------------------------------

void Donor::requested(TimePoint now, const PeerKey& from, const wire::LeafRequest& request) {
    if (Snapshot* snapshot = snapshot_named(request.root)) snapshot->last_used = now;
    if (const auto found = fetching_.find(from); found != fetching_.end())
        found->second.used_at = now;
    auto& queue = queues_[from];
    if (queue.size() >= kMaxRequests) return;
    if (std::find(queue.begin(), queue.end(), request) == queue.end()) queue.push_back(request);
}

Buffer Donor::leaf_of(const Round& round, std::uint32_t leaf) const {
    if (!round.average) return leaf < round.packed.size() ? round.packed[leaf] : Buffer{};
    const std::span average{*round.average};
    const std::size_t first = std::size_t{leaf} * kLeafElements;
    if (first >= average.size()) return {};
    const auto values = average.subspan(first, std::min(kLeafElements, average.size() - first));
    if (auto packed = pack(rules_.codec, values)) return *std::move(packed);
    const auto bytes = std::as_bytes(values);
    return {bytes.begin(), bytes.end()};
}

Buffer Donor::leaf_named(TimePoint now, const wire::LeafRequest& request) {
    if (Snapshot* snapshot = snapshot_named(request.root)) {
        snapshot->last_used = now;
        if (request.root != snapshot->state.digest) {
            return page_of(snapshot->state.leaves, request.leaf);
        }
        const StableBytes& state = *snapshot->state.bytes;
        if (request.leaf >= kernels::leaf_count(state.size())) return {};
        const std::uint64_t first = std::uint64_t{request.leaf} * kernels::kLeafBytes;
        Buffer leaf(std::min<std::uint64_t>(kernels::kLeafBytes, state.size() - first));
        state.read(first, leaf);
        return leaf;
    }
    for (const Round& round : rounds_) {
        if (round.record.average == request.root) return leaf_of(round, request.leaf);
        if (round.list && round.list->root == request.root) {
            return page_of(round.leaves, request.leaf);
        }
    }
    return {};
}

std::optional<wire::Leaf> Donor::next(TimePoint now, const PeerKey& to) {
    const auto queue = queues_.find(to);
    if (queue == queues_.end()) return std::nullopt;
    const wire::LeafRequest request = queue->second.front();
    queue->second.pop_front();
    if (queue->second.empty()) queues_.erase(queue);
    if (const auto found = fetching_.find(to); found != fetching_.end()) {
        const bool is_page = std::ranges::any_of(
            snapshots_, [&](const Snapshot& s) { return s.list && s.list->root == request.root; });
        found->second.used_at = now;
        if (!is_page) ++found->second.leaves;
    }
    return wire::Leaf{.root = request.root,
                      .leaf = request.leaf,
                      .data = may_have(now, to, request) ? leaf_named(now, request) : Buffer{}};
}

// --- time --------------------------------------------------------------------

void Donor::lost(const PeerKey& peer) {
    waiting_.erase(peer);
    fetching_.erase(peer);
    asked_.erase(peer);
    queues_.erase(peer);
}

void Donor::advance(TimePoint now, const Own& own, Outbox& out) {
    if (!waiting_.empty()) serve_waiting(now, own, out);
    std::erase_if(snapshots_,
                  [&](const Snapshot& s) { return !is_busy(s, now, 2 * rules_.failure_timeout); });
}

TimePoint Donor::next_deadline() const {
    TimePoint next = kNever;
    for (const Snapshot& s : snapshots_) {
        // A snapshot with queued leaves has no deadline before those have been sent.
        const bool is_queued =
            is_busy(s, s.last_used + 2 * rules_.failure_timeout, 2 * rules_.failure_timeout);
        if (!is_queued) next = std::min(next, s.last_used + 2 * rules_.failure_timeout);
    }
    if (waiting_.empty()) return next;
    for (const auto& [peer, turn] : fetching_) next = std::min(next, end_of_turn(peer));
    return next;
}

void Donor::reset() {
    snapshots_.clear();
    waiting_.clear();
    fetching_.clear();
    asked_.clear();
    queues_.clear();
    taking_since_.reset();
}

void Donor::check_invariants() const {
    DEDLOC_CHECK(snapshots_.size() <= kMaxSnapshots, "the number of snapshots is bounded",
                 snapshots_.size());
    DEDLOC_CHECK(rounds_.size() <= retained_, "the number of retained rounds is bounded",
                 rounds_.size());
    DEDLOC_CHECK(proofs_.size() <= kMaxProofs, "the number of certificates is bounded",
                 proofs_.size());
    for (const Snapshot& snapshot : snapshots_) {
        DEDLOC_CHECK(!snapshot.proof || snapshot.proof->state == snapshot.state.digest,
                     "a snapshot's certificate is of the same state", snapshot.state.step.value());
    }
    DEDLOC_CHECK(allowances_.size() <= kMaxAllowances, "the number of allowances is bounded",
                 allowances_.size());
    DEDLOC_CHECK(fetching_.size() <= kFetching, "the number of peers that fetch is bounded",
                 fetching_.size());
    for (const auto& [peer, queue] : queues_) {
        DEDLOC_CHECK(!queue.empty() && queue.size() <= kMaxRequests,
                     "a peer's request queue is bounded and not empty", queue.size());
    }
}

}  // namespace dedloc::state
