// Chunks that fit no plan here. An honest sender may have a newer plan than we have, so they are
// kept for that plan: the newest of each sender, within limits for one and for all. A sender whose
// chunks belong to more sums than there can be plans is noted.
#include <algorithm>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/round/reduction.hpp"

namespace dedloc::round {
namespace {

/// Cost of keeping a chunk in addition to its elements, in elements: forged chunks may be tiny.
constexpr std::uint64_t kChunkOverhead = 64;
/// Upper bound of a plan's chunks for vectors so short that the overhead matters
/// (planning/request.hpp).
constexpr std::uint64_t kChunksOfPart = 16'384;

std::uint64_t cost_of(const wire::Chunk& chunk) {
    return count_of(chunk.elements) + kChunkOverhead;
}

/// Most memory, in elements, of one sender's chunks ahead of their plan.
std::uint64_t max_early(std::uint64_t elements) {
    return 2 * (elements + kChunksOfPart * kChunkOverhead);
}

/// The same of all senders. Honest ones are a window ahead, or their part of the average.
std::uint64_t max_early_of_all(std::uint64_t elements) {
    return 2 * max_early(elements);
}

}  // namespace

Reduction::Name Reduction::name_of(const wire::Chunk& chunk) {
    return {chunk.kind, chunk.sum_id, chunk.chunk, chunk.chunk_elements};
}

/// Keeps a chunk whose sender may have a newer plan than we have. Beyond the limits it drops the
/// oldest ones of the sender, or of the sender that holds most.
void Reduction::keep_early(const PeerKey& from, wire::Chunk chunk) {
    note_unknown(from, chunk);
    Early& early = early_[from];
    if (!early.names.insert(name_of(chunk)).second) return;
    early.cost += cost_of(chunk);
    early_cost_ += cost_of(chunk);
    early.chunks.push_back(std::move(chunk));
    while (early.cost > max_early(elements_)) drop_oldest(early);
    const auto cost = [](const auto& entry) { return entry.second.cost; };
    while (early_cost_ > max_early_of_all(elements_)) {
        drop_oldest(std::ranges::max_element(early_, {}, cost)->second);
    }
}

void Reduction::note_unknown(const PeerKey& from, const wire::Chunk& chunk) {
    auto& sums = unknown_sums_[from];
    if (sums.size() <= kMaxUnknownSums) sums.insert(chunk.sum_id);
    if (sums.size() > kMaxUnknownSums) flooders_.insert(from);
}

void Reduction::drop_oldest(Early& early) {
    const wire::Chunk& oldest = early.chunks.front();
    early.cost -= cost_of(oldest);
    early_cost_ -= cost_of(oldest);
    early.names.erase(name_of(oldest));
    early.chunks.pop_front();
}

void Reduction::replay_early() {
    auto all = std::exchange(early_, {});
    early_cost_ = 0;
    for (auto& [from, early] : all) {
        for (wire::Chunk& chunk : early.chunks) take(from, std::move(chunk));
    }
}

/// The peer sends them again.
void Reduction::forget_early(const PeerKey& peer) {
    const auto early = early_.find(peer);
    if (early == early_.end()) return;
    early_cost_ -= early->second.cost;
    early_.erase(early);
}

void Reduction::check_early() const {
    std::uint64_t early_cost = 0;
    for (const auto& [from, early] : early_) {
        DEDLOC_CHECK(early.cost <= max_early(elements_), "chunks ahead of their plan are bounded",
                     early.cost);
        early_cost += early.cost;
    }
    DEDLOC_CHECK(early_cost == early_cost_ && early_cost <= max_early_of_all(elements_),
                 "all chunks ahead of their plan are counted and bounded", early_cost, early_cost_);
}

}  // namespace dedloc::round
