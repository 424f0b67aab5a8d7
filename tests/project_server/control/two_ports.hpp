// Two consecutive TCP ports, as the control plane between machines needs them.
#pragma once

#include <cstdint>

#include "peer/base/error.hpp"
#include "peer/platform/ports.hpp"

namespace dedloc::control {

/// The first of two ports of 127.0.0.1 that are not in use now.
inline std::uint16_t free_pair_of_ports() {
    for (;;) {
        const auto first = platform::free_port("127.0.0.1");
        if (first == 65'535) continue;
        try {
            platform::require_free_port("127.0.0.1", static_cast<std::uint16_t>(first + 1));
            return first;
        } catch (const InputError&) {
            // The next one is in use: try another pair.
        }
    }
}

}  // namespace dedloc::control
