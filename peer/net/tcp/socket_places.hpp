// Divides a transport's sockets among links, dials and incoming handshakes, so that one kind cannot
// starve another.
#pragma once

#include <cstddef>
#include <string>

#include "peer/net/tcp/transport_options.hpp"

namespace dedloc::net {

/// Maximum numbers of sockets of each kind.
struct SocketPlaces {
    std::size_t links = 0;  ///< and their flows; at this number, incoming connections are closed
    std::size_t dials = 0;  ///< dials in progress, and dialled links beyond `links`
    /// Flows beyond the first of each link: of the places of links, a quarter at most.
    std::size_t more_flows = 0;
    std::size_t handshakes = 0;  ///< incoming ones, for each of PendingLinks' two kinds
    /// Links without proofs from one address: half of all links, so that other addresses get some.
    std::size_t unproven_from_one_address = 0;
};

/// Gives half of `sockets` to links, a quarter to dials and a quarter to incoming handshakes, but
/// at least one and at most what the options allow. From 8 sockets on,
/// links + dials + 2 · handshakes ≤ sockets.
SocketPlaces divide_sockets(const TransportOptions& options, std::size_t sockets);

/// The limit on open files with which divide_sockets() gives all that the options allow.
std::size_t descriptors_for(const TransportOptions& options);

/// One sentence for the log: how many links there can be and, if there are fewer descriptors than
/// `options` need, what to raise. `limit`: the limit on open files in effect.
std::string describe_places(const TransportOptions& options, const SocketPlaces& places,
                            std::size_t limit);

}  // namespace dedloc::net
