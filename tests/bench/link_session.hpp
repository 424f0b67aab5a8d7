// The keys and tickets of both ends of a link, the same in each run, for the benchmarks of links.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "peer/net/session/handshake.hpp"

namespace dedloc::bench {

inline KeyPair link_key(std::uint8_t n) {
    return KeyPair::from_seed(std::array<std::byte, 32>{std::byte{n}});
}

/// The session of end number n, with a ticket for the next hour.
inline net::SessionOptions link_session(std::uint8_t n) {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const formats::Ticket ticket{.run = {},
                                 .peer = link_key(n).public_key(),
                                 .job = {},
                                 .issued = now,
                                 .expires = now + std::chrono::hours{1}};
    const KeyPair project = link_key(9);
    return {.project = project.public_key(),
            .run = {},
            .key = link_key(n),
            .ticket = formats::sign(ticket, project)};
}

}  // namespace dedloc::bench
