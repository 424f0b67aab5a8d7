// How the sockets that a transport may have are divided: no kind can take the places of another.
#pragma once

#include <cstddef>

#include "peer/net/tcp/transport_options.hpp"

namespace dedloc::net {

struct SocketPlaces {
    std::size_t links = 0;  ///< over it, incoming connections are closed
    std::size_t dials = 0;  ///< under way, and dialled links over `links`
    /// Incoming handshakes, for each of the two kinds of PendingLinks.
    std::size_t from_one_address = 0;
    std::size_t handshakes = 0;
    /// Links without proofs from one address: half of all links, so that others get the rest.
    std::size_t unproven_from_one_address = 0;
};

/// Half of `sockets` for links, a quarter for dials and a quarter for incoming handshakes, but no
/// more than the options allow and one at least. From 8 sockets on,
/// links + dials + 2 · handshakes ≤ sockets.
SocketPlaces divide_sockets(const TransportOptions& options, std::size_t sockets);

}  // namespace dedloc::net
