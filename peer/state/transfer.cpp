#include "peer/state/transfer.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>

#include "peer/base/check.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::state {
namespace {

using wire::kStateChunkBytes;

constexpr std::size_t kMaxSnapshots = 2;
constexpr std::size_t kRememberedDigests = 32;
constexpr std::uint64_t kWindow = 8;  // chunks under way: 2 MiB hide 160 ms at 100 Mb/s

std::uint64_t state_bytes(const PeerConfig& config) {
    return 3 * sizeof(float) * config.rules.elements;
}

}  // namespace

// --- donor -------------------------------------------------------------------

void Donor::offer(const PeerKey& to, const event::SnapshotTaken& state, round::Outbox& out) const {
    out.send(to, state.step,
             wire::StateOffer{.digest = state.digest, .bytes = state.bytes->size()});
}

void Donor::queried(const PeerKey& from, const round::Member& own, round::Outbox& out) {
    if (!own.has_state()) return;
    for (const Snapshot& snapshot : snapshots_) {
        if (snapshot.state.step == own.step() && snapshot.state.digest == own.digest()) {
            return offer(from, snapshot.state, out);
        }
    }
    if (waiting_.empty()) out.act(action::TakeSnapshot{});
    waiting_.insert(from);
}

void Donor::snapshot_taken(TimePoint now, const event::SnapshotTaken& snapshot,
                           round::Outbox& out) {
    DEDLOC_CHECK(snapshot.bytes->size() == state_bytes(config_), "a snapshot is a whole state",
                 snapshot.bytes->size());
    if (snapshots_.size() == kMaxSnapshots) snapshots_.pop_front();
    snapshots_.push_back({.state = snapshot, .last_used = now});
    for (const PeerKey& peer : std::exchange(waiting_, {})) offer(peer, snapshot, out);
}

void Donor::requested(TimePoint now, const PeerKey& from, StepIndex step,
                      const wire::StateRequest& request, round::Outbox& out) {
    for (Snapshot& snapshot : snapshots_) {
        const Buffer& bytes = *snapshot.state.bytes;
        if (snapshot.state.step != step || request.offset >= bytes.size()) continue;
        snapshot.last_used = now;
        const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(request.offset);
        const auto count = std::min<std::uint64_t>(kStateChunkBytes, bytes.size() - request.offset);
        out.send(
            from, step,
            wire::StateChunk{.offset = request.offset,
                             .data = Buffer(first, first + static_cast<std::ptrdiff_t>(count))});
        return;
    }
}

void Donor::tick(TimePoint now) {
    std::erase_if(snapshots_, [&](const Snapshot& s) {
        return now >= s.last_used + 2 * config_.rules.silence;
    });
}

TimePoint Donor::next_deadline() const {
    TimePoint next = kNever;
    for (const Snapshot& s : snapshots_) {
        next = std::min(next, s.last_used + 2 * config_.rules.silence);
    }
    return next;
}

void Donor::reset() {
    snapshots_.clear();
    waiting_.clear();
}

// --- newcomer ----------------------------------------------------------------

void Newcomer::told(StepIndex step, const Digest& digest) {
    told_[step] = digest;
    // A coordinator that was restarted from a checkpoint is behind what it told before.
    told_.erase(told_.upper_bound(step), told_.end());
    if (told_.size() > kRememberedDigests) told_.erase(told_.begin());
}

void Newcomer::begin(TimePoint now, round::Outbox& out) {
    if (fetch_ || told_.empty()) return;
    const auto& [step, digest] = *told_.rbegin();
    std::vector<PeerKey> donors;
    for (const auto& [peer, known] : links_.known()) {
        if (known.heartbeat.has_state && known.step == step && known.heartbeat.digest == digest) {
            donors.push_back(peer);
        }
    }
    if (donors.empty()) return;
    const PeerKey& donor = donors[random_.below(donors.size())];
    fetch_ = Fetch{.donor = donor,
                   .deadline = now + config_.rules.silence,
                   .step = {},
                   .digest = {},
                   .bytes = nullptr,
                   .has_chunk = {}};
    out.send(donor, step, wire::StateQuery{});
}

void Newcomer::offered(TimePoint now, const PeerKey& from, StepIndex step,
                       const wire::StateOffer& offer, round::Outbox& out) {
    if (!fetch_ || fetch_->donor != from || fetch_->bytes) return;
    const auto known = told_.find(step);
    if (known == told_.end() || known->second != offer.digest ||
        offer.bytes != state_bytes(config_)) {
        fetch_.reset();  // another donor, or the same one when it has caught up
        return;
    }
    fetch_->step = step;
    fetch_->digest = offer.digest;
    fetch_->bytes = std::make_shared<Buffer>(offer.bytes);
    fetch_->has_chunk.resize((offer.bytes + kStateChunkBytes - 1) / kStateChunkBytes);
    fetch_->missing = offer.bytes;
    fetch_->deadline = now + config_.rules.silence;
    for (std::uint64_t i = 0; i < kWindow; ++i) request_next(out);
}

void Newcomer::request_next(round::Outbox& out) {
    if (fetch_->next_offset >= fetch_->bytes->size()) return;
    out.send(fetch_->donor, fetch_->step, wire::StateRequest{fetch_->next_offset});
    fetch_->next_offset += kStateChunkBytes;
}

void Newcomer::received(TimePoint now, const PeerKey& from, StepIndex step,
                        const wire::StateChunk& chunk, round::Outbox& out) {
    if (!fetch_ || fetch_->donor != from || !fetch_->bytes || fetch_->is_loading) return;
    const std::uint64_t size = fetch_->bytes->size();
    if (step != fetch_->step || chunk.offset >= size || chunk.offset % kStateChunkBytes != 0)
        return;
    const auto index = static_cast<std::size_t>(chunk.offset / kStateChunkBytes);
    const auto expected = std::min<std::uint64_t>(kStateChunkBytes, size - chunk.offset);
    if (chunk.data.size() != expected || fetch_->has_chunk[index]) return;
    fetch_->has_chunk[index] = true;
    fetch_->missing -= expected;
    fetch_->deadline = now + config_.rules.silence;
    std::copy(chunk.data.begin(), chunk.data.end(),
              fetch_->bytes->begin() + static_cast<std::ptrdiff_t>(chunk.offset));
    if (fetch_->missing != 0) return request_next(out);
    fetch_->is_loading = true;
    fetch_->deadline = kNever;  // the trainer always answers
    out.act(action::Load{.step = fetch_->step, .digest = fetch_->digest, .bytes = fetch_->bytes});
}

void Newcomer::lost(const PeerKey& peer) {
    if (fetch_ && fetch_->donor == peer && !fetch_->is_loading) fetch_.reset();
}

void Newcomer::tick(TimePoint now, round::Outbox& out) {
    if (!fetch_ || now < fetch_->deadline) return;
    out.note(fetch_->donor.brief() + " does not send its state: trying another donor");
    fetch_.reset();
}

}  // namespace dedloc::state
