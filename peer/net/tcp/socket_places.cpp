// Incoming handshakes have two kinds with a limit each, so one kind gets an eighth of the sockets
// and both together a quarter.
#include "peer/net/tcp/socket_places.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "peer/platform/descriptors.hpp"

namespace dedloc::net {
namespace {

// What each kind of socket gets: one part in this many.
constexpr std::size_t kLinkPart = 2;
constexpr std::size_t kDialPart = 4;
constexpr std::size_t kHandshakePart = 8;
/// What flows beyond the first get of the places of links: one part in this many.
constexpr std::size_t kMoreFlowsPart = 4;

}  // namespace

SocketPlaces divide_sockets(const TransportOptions& options, std::size_t sockets) {
    const auto share = [&](std::size_t part, std::size_t max) {
        return std::max<std::size_t>(1, std::min(sockets / part, max));
    };
    const std::size_t links = share(kLinkPart, options.max_links);
    const std::size_t handshakes = share(kHandshakePart, options.handshakes.together);
    return {.links = links,
            .dials = share(kDialPart, options.max_dials),
            .more_flows = links / kMoreFlowsPart,
            .handshakes = handshakes,
            .unproven_from_one_address = std::max<std::size_t>(1, links / 2)};
}

std::size_t descriptors_for(const TransportOptions& options) {
    return platform::limit_for_sockets(
        std::max({kLinkPart * options.max_links, kDialPart * options.max_dials,
                  kHandshakePart * options.handshakes.together}));
}

std::string describe_places(const TransportOptions& options, const SocketPlaces& places,
                            std::size_t limit) {
    std::string line = fmt::format("at most {} links", places.links);
    if (places.links >= options.max_links) return line;
    return line + fmt::format(
                      " instead of {}, {} dials and {} incoming handshakes of each kind: this "
                      "process may open {} files, and all would need {} (RLIMIT_NOFILE: ulimit "
                      "-Hn, or LimitNOFILE= of a service)",
                      options.max_links, places.dials, places.handshakes, limit,
                      descriptors_for(options));
}

}  // namespace dedloc::net
