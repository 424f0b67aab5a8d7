// A straggler is recognised by the state digest in its heartbeat. The set of awaited peers is fixed
// when a head is first seen and each gets its next pause then, doubled up to kMaxPause, whether it
// arrives or not. The wait ends when none of them is behind any more, or with the timeout, which
// also starts a rest of kRest steps. A new generation forgets pauses and rest.
#include "peer/round/latecomers.hpp"

#include <algorithm>

namespace dedloc::round {

bool Latecomers::hold_up(TimePoint now, const Head& head, const membership::Links& links,
                         Duration timeout, const std::set<PeerKey>& ignored) {
    std::vector<PeerKey> behind;
    int steps = 1;
    for (const auto& [peer, known] : links.known()) {
        const Digest& state = known.heartbeat.state;
        const bool is_former = state != Digest{} && (state == former_[0] || state == former_[1]);
        const bool may_come = known.has_reported && known.generation == head.generation;
        if (!may_come || !known.receives || !is_former || ignored.contains(peer)) continue;
        behind.push_back(peer);
        if (state != former_[0]) steps = 2;
    }
    return hold_up(now, head, behind, steps * timeout);
}

bool Latecomers::hold_up(TimePoint now, const Head& head, const std::vector<PeerKey>& behind,
                         Duration timeout) {
    if (head.generation != generation_) {
        generation_ = head.generation;
        pauses_.clear();
        rests_until_ = {};
    }
    if (head.record != record_) {
        record_ = head.record;
        until_ = now + timeout;
        awaited_.clear();
        std::erase_if(
            pauses_, [&](const auto& entry) { return entry.second.ends + kMaxPause <= head.step; });
        for (const PeerKey& peer : behind) await(peer, head.step);
    }
    const bool is_missing = std::any_of(
        behind.begin(), behind.end(), [&](const PeerKey& peer) { return awaited_.contains(peer); });
    if (!is_missing) return false;
    if (now < until_) return true;
    awaited_.clear();
    rests_until_ = head.step + kRest;
    return false;
}

void Latecomers::await(const PeerKey& peer, StepIndex step) {
    const auto pause = pauses_.try_emplace(peer, Pause{.ends = step, .length = kPause}).first;
    if (step < rests_until_ || step < pause->second.ends) return;
    awaited_.insert(peer);
    pause->second.ends = step + pause->second.length;
    pause->second.length = std::min(pause->second.length + pause->second.length, kMaxPause);
}

}  // namespace dedloc::round
