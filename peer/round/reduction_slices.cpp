// Slices of averaged chunks: how many are kept, and how freed ones come again when the sum changes.
#include <algorithm>
#include <utility>
#include <vector>

#include "peer/planning/request.hpp"
#include "peer/round/reduction.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::round {

/// Bytes of the slices of other members for this chunk, once all are here.
std::uint64_t Reduction::cost_of_slices(std::uint32_t chunk) const {
    return slices_wanted_ * planning::on_the_wire(codec_).bytes_of(size_of(chunk));
}

std::uint64_t Reduction::slice_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& [peer, kept] : kept_) {
        for (const auto& [chunk, slice] : kept.chunks) {
            bytes += planning::on_the_wire(codec_).bytes_of(count_of(slice));
        }
    }
    return bytes;
}

/// After a new plan: which slices are of averaged chunks.
void Reduction::note_spent() {
    spent_.clear();
    spent_bytes_ = 0;
    for (std::uint32_t c = 0; c < chunk_count(); ++c) {
        if (is_mine(c) && has_average_[c] && !is_freed_[c]) has_spent(c);
    }
}

/// The chunk is averaged: frees the slices of the oldest averaged chunks beyond the limit.
void Reduction::has_spent(std::uint32_t chunk) {
    spent_.push_back(chunk);
    is_freed_[chunk] = false;
    spent_bytes_ += cost_of_slices(chunk);
    while (spent_bytes_ > kept_bytes_) {
        const std::uint32_t oldest = spent_.front();
        spent_.pop_front();
        spent_bytes_ -= cost_of_slices(oldest);
        for (auto& [peer, kept] : kept_) kept.chunks.erase(oldest);
        slices_here_[oldest] = 0;
        is_freed_[oldest] = true;
    }
}

std::vector<std::pair<PeerKey, wire::SliceQuery>> Reduction::take_queries() {
    std::vector<std::pair<PeerKey, wire::SliceQuery>> queries;
    if (!plan_) return queries;
    std::vector<std::uint32_t> freed;
    for (const std::uint32_t c : parts_[own_index_]) {
        if (is_freed_[c] && !has_average_[c]) freed.push_back(c);
    }
    if (freed.empty()) return queries;
    for (const std::uint32_t k : contributors_) {
        if (k == own_index_) continue;
        const PeerKey& peer = plan_->members[k].peer;
        const auto kept = kept_.find(peer);
        wire::SliceQuery query{
            .sum_id = sum_id_, .chunk_elements = plan_->chunk_elements, .chunks = {}};
        for (const std::uint32_t c : freed) {
            if (kept != kept_.end() && kept->second.chunks.contains(c)) continue;
            // The last span covers what would not fit: slices that come twice are ignored.
            const bool extends = !query.chunks.empty() && (query.chunks.back().last_chunk == c ||
                                                           query.chunks.size() == wire::kMaxRanges);
            if (extends) {
                query.chunks.back().last_chunk = c + 1;
            } else {
                query.chunks.push_back({.first_chunk = c, .last_chunk = c + 1});
            }
        }
        if (!query.chunks.empty()) queries.emplace_back(peer, std::move(query));
    }
    for (const std::uint32_t c : freed) is_freed_[c] = false;
    return queries;
}

void Reduction::send_again(const PeerKey& from, const wire::SliceQuery& query) {
    if (!plan_) return;
    const std::uint32_t index = wire::index_of(*plan_, from);
    if (wire::chunks_of(*plan_, index) == 0) return;
    if (query.sum_id != sum_id_) {
        queries_[from] = query;
        return;
    }
    if (!has_former_sum_ || query.chunk_elements != plan_->chunk_elements) return;
    if (!answered_.insert(from).second) return;
    for (const wire::ChunkSpan& span : query.chunks) {
        const std::uint32_t end = std::min(span.last_chunk, chunk_count());
        for (std::uint32_t c = span.first_chunk; c < end; ++c) {
            if (scattered_to_[c] == from) scattered_to_[c] = PeerKey{};
        }
    }
    schedule_scatter();
}

}  // namespace dedloc::round
