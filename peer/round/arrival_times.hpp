// When chunks of a round have come from each peer. The coordinator judges links by these times, and
// a member complains of peers that have placed nothing for a while.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "peer/round/reduction.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::round {

/// Times of one round's chunks at one member.
class ArrivalTimes {
  public:
    /// The member follows a plan from now on.
    void on_plan(TimePoint now) { planned_at_ = now; }
    /// A chunk of this kind has come and was of use, or is kept for a later plan.
    void on_chunk(TimePoint now, const PeerKey& from, wire::ChunkKind kind, Reduction::Taken taken,
                  const Reduction& reduction);

    /// When the present plan arrived.
    TimePoint planned_at() const { return planned_at_; }
    /// When this peer last placed a chunk that was missing; nothing: it has placed none.
    std::optional<TimePoint> last_placed(const PeerKey& peer) const;
    /// When this peer's last chunk of an average came; nothing: none has come.
    std::optional<TimePoint> average(const PeerKey& peer) const;
    /// When the slices of this peer's contribution for this member's part had come, or would have
    /// if its window had not kept it from sending them; nothing: none has come.
    std::optional<TimePoint> contribution(const PeerKey& peer, const Reduction* reduction) const;

  private:
    /// The slices of a contributor's first window: later ones may have to wait for other peers.
    struct FirstSlices {
        std::uint32_t count = 0;
        TimePoint last;  ///< when the last of them came
    };

    TimePoint planned_at_{};
    std::map<PeerKey, TimePoint> last_placed_;
    std::map<PeerKey, FirstSlices> first_slices_;
    std::map<PeerKey, TimePoint> last_average_;
};

}  // namespace dedloc::round
