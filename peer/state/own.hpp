// What a peer holds itself, as its core knows it: what donors compare with what is asked, and what
// a peer that is behind starts from.
#pragma once

#include <cstdint>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"

namespace dedloc::state {

struct Own {
    bool has_state = false;  ///< false: never had one, or an update is being applied right now
    std::uint64_t generation = 0;
    StepIndex step;  ///< of the state; of the head when there is none
    Digest state;    ///< meaningless without has_state
};

}  // namespace dedloc::state
