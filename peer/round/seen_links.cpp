// A record begins when its peer was slow and ends when doubling has made it larger than any link,
// or when the peer is measured anew. A full table takes no more peers: their claims count.
#include "peer/round/seen_links.hpp"

#include <algorithm>
#include <chrono>

namespace dedloc::round {
namespace {

constexpr std::size_t kMaxSeenLinks = 4'096;
constexpr std::uint32_t kMaxRounds = 512;
constexpr double kFastestLink = 1e11;  ///< bytes per second that no link has

double rate_of(std::uint64_t bytes, Duration time) {
    const std::chrono::duration<double> took = std::max(time, Duration{1'000'000});
    return static_cast<double>(bytes) / took.count();
}

std::optional<Bandwidth> lower(std::optional<Bandwidth> claim, double seen) {
    if (seen <= 0) return claim;
    const auto known = known_bandwidth(static_cast<std::uint64_t>(seen) + 1);
    return claim ? std::min(claim, known) : known;
}

}  // namespace

void SeenLinks::on_slow_send(const PeerKey& peer, std::uint64_t bytes, Duration time) {
    if (Seen* seen = doubt(peer)) seen->upload = rate_of(bytes, time);
}

void SeenLinks::on_slow_receive(const PeerKey& peer, std::uint64_t bytes, Duration time) {
    if (Seen* seen = doubt(peer)) seen->download = rate_of(bytes, time);
}

std::optional<Bandwidth> SeenLinks::upload_of(const PeerKey& peer,
                                              std::optional<Bandwidth> claim) const {
    const auto found = seen_.find(peer);
    return found == seen_.end() ? claim : lower(claim, found->second.upload);
}

std::optional<Bandwidth> SeenLinks::download_of(const PeerKey& peer,
                                                std::optional<Bandwidth> claim) const {
    const auto found = seen_.find(peer);
    return found == seen_.end() ? claim : lower(claim, found->second.download);
}

void SeenLinks::on_decision() {
    for (auto& [peer, seen] : seen_) {
        if (--seen.left > 0) continue;
        seen.left = seen.length;
        seen.upload *= 2;
        seen.download *= 2;
    }
    std::erase_if(seen_, [](const auto& entry) {
        return std::max(entry.second.upload, entry.second.download) > kFastestLink;
    });
    if (judged_ && !seen_.contains(*judged_)) judged_.reset();
}

void SeenLinks::forget(const PeerKey& peer) {
    seen_.erase(peer);
    if (judged_ == peer) judged_.reset();
}

/// The peer's record, to be written; null: there are too many.
SeenLinks::Seen* SeenLinks::doubt(const PeerKey& peer) {
    if (seen_.size() >= kMaxSeenLinks && !seen_.contains(peer)) return nullptr;
    if (!judged_) judged_ = peer;
    const auto [entry, is_new] = seen_.try_emplace(peer);
    Seen& seen = entry->second;
    if (!is_new) seen.length = std::min(2 * seen.length, kMaxRounds);
    seen.left = seen.length;
    return &seen;
}

}  // namespace dedloc::round
