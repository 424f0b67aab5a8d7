// UpdateScalars lives with the other values of the wire.
#pragma once

#include "peer/wire/types.hpp"

namespace dedloc::state {
using dedloc::UpdateScalars;
}  // namespace dedloc::state
