// The peers that may have the commits take turns: the turn follows from the time, so that no state
// has to be kept for it and a restarted keeper does not begin with the same peer again.
#include "peer/core/missed_commits.hpp"

#include <vector>

#include "peer/wire/limits.hpp"

namespace dedloc {
namespace {

constexpr Duration kMinAnswerPause = std::chrono::milliseconds{20};
/// Minimum time between two queries. Longer than kMinAnswerPause, because a query that comes too
/// early gets no answer, and queries may arrive closer together than they were sent.
constexpr Duration kMinQueryPause = 2 * kMinAnswerPause;

}  // namespace

void MissedCommits::head_moved(StepIndex head) {
    std::erase_if(ahead_, [&](const auto& known) { return known.second <= head; });
    if (ahead_.empty()) ask_soon();
}

void MissedCommits::lost(const PeerKey& peer) {
    ahead_.erase(peer);
    answered_.erase(peer);
}

std::optional<PeerKey> MissedCommits::peer_to_ask(TimePoint now, std::span<const PeerKey> others) {
    if (now < next_query_) return std::nullopt;
    std::vector<PeerKey> holders;
    for (const auto& [peer, step] : ahead_) holders.push_back(peer);
    if (holders.empty()) holders.assign(others.begin(), others.end());
    if (holders.empty()) return std::nullopt;
    soonest_query_ = now + kMinQueryPause;
    next_query_ = now + pause_;
    received_ = 0;
    const auto turn = static_cast<std::size_t>(now.time_since_epoch() / pause_);
    return holders[turn % holders.size()];
}

void MissedCommits::received() {
    if (++received_ >= wire::kMaxCommitsPerQuery) ask_soon();
}

TimePoint MissedCommits::next_deadline() const {
    return ahead_.empty() ? kNever : next_query_;
}

bool MissedCommits::may_answer(TimePoint now, const PeerKey& keeper) {
    const auto [last, is_first] = answered_.try_emplace(keeper, now);
    if (!is_first && now < last->second + kMinAnswerPause) return false;
    last->second = now;
    return true;
}

}  // namespace dedloc
