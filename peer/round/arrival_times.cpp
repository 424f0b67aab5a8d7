// A contributor's time counts by the slices of its first window: later ones wait until the averages
// of all contributors are here. The time of the whole part follows in proportion.
#include "peer/round/arrival_times.hpp"

#include <chrono>

namespace dedloc::round {
namespace {

std::optional<TimePoint> time_of(const std::map<PeerKey, TimePoint>& times, const PeerKey& peer) {
    const auto found = times.find(peer);
    return found == times.end() ? std::nullopt : std::optional{found->second};
}

}  // namespace

void ArrivalTimes::on_chunk(TimePoint now, const PeerKey& from, wire::ChunkKind kind,
                            Reduction::Taken taken, const Reduction& reduction) {
    // Only progress is proof against the suspicion that a member has stalled.
    if (taken == Reduction::Taken::kPlaced) last_placed_[from] = now;
    if (kind == wire::ChunkKind::kGather) {
        last_average_[from] = now;
        return;
    }
    FirstSlices& slices = first_slices_[from];
    const std::uint32_t first = reduction.first_chunks();
    if (first > 0 && slices.count >= first) return;
    ++slices.count;
    slices.last = now;
}

std::optional<TimePoint> ArrivalTimes::last_placed(const PeerKey& peer) const {
    return time_of(last_placed_, peer);
}

std::optional<TimePoint> ArrivalTimes::average(const PeerKey& peer) const {
    return time_of(last_average_, peer);
}

std::optional<TimePoint> ArrivalTimes::contribution(const PeerKey& peer,
                                                    const Reduction* reduction) const {
    const auto found = first_slices_.find(peer);
    if (found == first_slices_.end()) return std::nullopt;
    const FirstSlices& slices = found->second;
    const std::uint32_t first = reduction != nullptr ? reduction->first_chunks() : 0;
    const bool is_whole = first == 0 || slices.count < first || slices.last < planned_at_;
    if (is_whole) return slices.last;
    const double parts = static_cast<double>(reduction->part_chunks()) / first;
    const std::chrono::duration<double> took = slices.last - planned_at_;
    return planned_at_ + std::chrono::duration_cast<Duration>(took * parts);
}

}  // namespace dedloc::round
