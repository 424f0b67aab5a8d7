// Bandwidths of peers, as far as rounds have contradicted what the peers claim.
//
// A claim counts until a round takes longer than planned because of its peer. From then on the
// bandwidth that was seen counts, in plans and in the choice of trainers. After kRounds rounds it
// counts twice, then four times, and so on, so that a link that has become faster is used again. If
// the peer is seen to be slow again, the rounds between are doubled.
//
// Liars     What is seen is what the coordinator itself has received, and when (see
//           Coordinator::judge_links). A reducer that withholds averages from another member, or
//           takes its chunks slowly, can make that one look slow. So only one peer at a time may be
//           moved out of rounds for what was seen, and plans only give such a peer a smaller part.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

#include "peer/base/units.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::round {

/// What rounds have shown of peers' links. Keeps at most 4,096 peers. Belongs to the coordinator.
class SeenLinks {
  public:
    /// Decided rounds until a bandwidth that was seen counts twice.
    static constexpr std::uint32_t kRounds = 8;

    /// The peer has sent `bytes` in `time` and delayed the round.
    void was_slow_to_send(const PeerKey& peer, std::uint64_t bytes, Duration time) {
        if (Seen* seen = doubt(peer)) seen->upload = rate_of(bytes, time);
    }
    /// The peer has received `bytes` in `time` and delayed the round.
    void was_slow_to_receive(const PeerKey& peer, std::uint64_t bytes, Duration time) {
        if (Seen* seen = doubt(peer)) seen->download = rate_of(bytes, time);
    }
    /// What a peer claims, or what was seen if that is less.
    std::optional<Bandwidth> upload_of(const PeerKey& peer, std::optional<Bandwidth> claim) const {
        const auto found = seen_.find(peer);
        return found == seen_.end() ? claim : lower(claim, found->second.upload);
    }
    std::optional<Bandwidth> download_of(const PeerKey& peer,
                                         std::optional<Bandwidth> claim) const {
        const auto found = seen_.find(peer);
        return found == seen_.end() ? claim : lower(claim, found->second.download);
    }
    /// Whether the peer may be moved out of rounds for what was seen: one at a time.
    bool may_leave(const PeerKey& peer) const { return judged_ == peer; }
    /// A round is decided.
    void decided() {
        for (auto& [peer, seen] : seen_) {
            if (--seen.left > 0) continue;
            seen.left = seen.length;
            seen.upload *= 2;
            seen.download *= 2;
        }
        std::erase_if(seen_, [](const auto& entry) {
            return std::max(entry.second.upload, entry.second.download) > kAnyLink;
        });
        if (judged_ && !seen_.contains(*judged_)) judged_.reset();
    }
    /// The peer is measured anew: what it claims counts.
    void forget(const PeerKey& peer) {
        seen_.erase(peer);
        if (judged_ == peer) judged_.reset();
    }

  private:
    static constexpr std::size_t kMaxRecords = 4'096;
    static constexpr std::uint32_t kMaxRounds = 512;
    static constexpr double kAnyLink = 1e11;  ///< bytes per second that no link has

    struct Seen {
        double upload = 0;               ///< bytes per second, 0: nothing contradicts the claim
        double download = 0;             ///< bytes per second, 0: nothing contradicts the claim
        std::uint32_t left = kRounds;    ///< rounds until these two are doubled
        std::uint32_t length = kRounds;  ///< how many it was
    };

    static double rate_of(std::uint64_t bytes, Duration time) {
        const std::chrono::duration<double> took = std::max(time, Duration{1'000'000});
        return static_cast<double>(bytes) / took.count();
    }
    static std::optional<Bandwidth> lower(std::optional<Bandwidth> claim, double seen) {
        if (seen <= 0) return claim;
        const auto known = known_bandwidth(static_cast<std::uint64_t>(seen) + 1);
        return claim ? std::min(claim, known) : known;
    }
    /// The peer's record, to be written; null: there are too many.
    Seen* doubt(const PeerKey& peer) {
        if (seen_.size() >= kMaxRecords && !seen_.contains(peer)) return nullptr;
        if (!judged_) judged_ = peer;
        const auto [entry, is_new] = seen_.try_emplace(peer);
        Seen& seen = entry->second;
        if (!is_new) seen.length = std::min(2 * seen.length, kMaxRounds);
        seen.left = seen.length;
        return &seen;
    }

    std::map<PeerKey, Seen> seen_;
    std::optional<PeerKey> judged_;
};

}  // namespace dedloc::round
