// Incoming handshakes have two kinds with a limit each, so one kind gets an eighth of the sockets
// and both together a quarter.
#include "peer/net/tcp/socket_places.hpp"

#include <algorithm>

namespace dedloc::net {

SocketPlaces divide_sockets(const TransportOptions& options, std::size_t sockets) {
    const auto share = [&](std::size_t part, std::size_t most) {
        return std::max<std::size_t>(1, std::min(sockets / part, most));
    };
    const std::size_t links = share(2, options.max_links);
    const std::size_t handshakes = share(8, options.handshakes.together);
    return {.links = links,
            .dials = share(4, options.max_dials),
            .from_one_address = std::min(handshakes, options.handshakes.from_one_address),
            .handshakes = handshakes,
            .unproven_from_one_address = std::max<std::size_t>(1, links / 2)};
}

}  // namespace dedloc::net
