// Divides a transport's sockets among links, dials and incoming handshakes, so that one kind cannot
// starve another.
#pragma once

#include <cstddef>

#include "peer/net/tcp/transport_options.hpp"

namespace dedloc::net {

/// Maximum numbers of sockets of each kind.
struct SocketPlaces {
    std::size_t links = 0;  ///< at this number, incoming connections are closed
    std::size_t dials = 0;  ///< dials in progress, and dialled links beyond `links`
    /// Incoming handshakes from one address and in total, for each of PendingLinks' two kinds.
    std::size_t from_one_address = 0;
    std::size_t handshakes = 0;
    /// Links without proofs from one address: half of all links, so that other addresses get some.
    std::size_t unproven_from_one_address = 0;
};

/// Gives half of `sockets` to links, a quarter to dials and a quarter to incoming handshakes, but
/// at least one and at most what the options allow. From 8 sockets on,
/// links + dials + 2 · handshakes ≤ sockets.
SocketPlaces divide_sockets(const TransportOptions& options, std::size_t sockets);

}  // namespace dedloc::net
