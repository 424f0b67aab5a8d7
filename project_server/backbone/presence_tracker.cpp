#include "project_server/backbone/presence_tracker.hpp"

#include <algorithm>
#include <utility>

#include "project_server/backbone/ledger.hpp"

namespace dedloc::backbone {
namespace {

std::int64_t whole_seconds(auto duration) {
    return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

}  // namespace

void PresenceTracker::add(const LedgerCommit& commit) {
    const CommitRecord& record = commit.decision.record;
    const std::vector<std::uint64_t> bytes = reduced_bytes(record, codec_);
    const std::int64_t now = whole_seconds(commit.committed_at.time_since_epoch());
    const std::int64_t began =
        now - std::clamp<std::int64_t>(whole_seconds(commit.took), 0, server::kLongestStep);
    for (std::size_t k = 0; k < record.members.size(); ++k) {
        const CommitLine& line = record.members[k];
        if (line.samples == Samples{0} && bytes[k] == 0) continue;
        const auto [place, is_new] = open_.try_emplace(line.peer);
        server::Presence& presence = place->second;
        if (!is_new && began - presence.ended > server::kPresenceGap) {
            if (changed_.erase(line.peer) > 0) closed_.push_back(presence);
            presence = {};
        }
        if (presence.contributions == 0) {
            presence.key = line.peer.hex();
            presence.began = began;
        }
        presence.ended = std::max(presence.ended, now);
        ++presence.contributions;
        presence.samples += line.samples.value();
        presence.reduced_bytes += bytes[k];
        changed_.insert(line.peer);
    }
    forget(began - server::kPresenceGap);
}

std::vector<server::Presence> PresenceTracker::take_changed() {
    std::vector<server::Presence> all = std::exchange(closed_, {});
    for (const PeerKey& key : changed_) all.push_back(open_.at(key));
    changed_.clear();
    std::ranges::sort(all, {}, [](const server::Presence& presence) {
        return std::pair{presence.key, presence.began};
    });
    return all;
}

/// Closes what ended before then. Looks through all of it only once in a gap.
void PresenceTracker::forget(std::int64_t before) {
    if (before - forgotten_ < server::kPresenceGap) return;
    forgotten_ = before;
    for (auto entry = open_.begin(); entry != open_.end();) {
        const auto& [key, presence] = *entry;
        if (presence.ended >= before) {
            ++entry;
            continue;
        }
        if (changed_.erase(key) > 0) closed_.push_back(presence);
        entry = open_.erase(entry);
    }
}

}  // namespace dedloc::backbone
