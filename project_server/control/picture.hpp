// The picture of a run, as its events change it. The backbone and every subscriber apply the same
// events to it, so a subscriber that missed none has the backbone's picture.
#pragma once

#include "project_server/control/messages.hpp"

namespace dedloc::control {

/// What an event has done to the picture.
enum class Applied : std::uint8_t {
    kChanged,  ///< the picture is that after the event
    kOld,      ///< the event was in the picture already
    kGap       ///< events before this one are missing, or it is of another session: get a snapshot
};

/// Applies the event to the picture. Bounded: more members than kMaxMembers are not listed.
/// Cost: O(members + steps) of the snapshot at worst.
Applied apply(Snapshot& picture, const Event& event);

}  // namespace dedloc::control
