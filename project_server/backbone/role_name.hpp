// The names of peers' roles, as the database and the control plane have them.
#pragma once

#include "peer/wire/types.hpp"

namespace dedloc::backbone {

/// "trainer", "aggregator" or "backbone".
constexpr const char* role_name(Role role) {
    switch (role) {
        case Role::kTrainer:
            return "trainer";
        case Role::kAggregator:
            return "aggregator";
        case Role::kBackbone:
            return "backbone";
    }
    return "";
}

}  // namespace dedloc::backbone
