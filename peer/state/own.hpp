// The state that this peer holds, as its core knows it. Donor answers queries from it, and CatchUp
// starts a fetch from it.
#pragma once

#include <cstdint>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"

namespace dedloc::state {

/// This peer's model state.
struct Own {
    bool has_state = false;        ///< false: none yet, or an update is being applied
    std::uint64_t generation = 0;  ///< the generation that the state belongs to
    StepIndex step;                ///< the state's step, or the head's step if there is no state
    Digest state;                  ///< the state's digest; meaningless without has_state
};

}  // namespace dedloc::state
