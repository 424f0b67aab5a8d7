// Forgets an earlier mapping, then repeats DhtDirectory::map_port() with a short timeout, so that
// `is_unwanted` is polled between the calls. Only the first of them sends requests to the routers.
#include "peer/net/port_mapping.hpp"

#include <chrono>

#include "peer/base/log.hpp"

namespace dedloc::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTimeout{5};
constexpr std::chrono::milliseconds kMappingTick{200};

}  // namespace

std::uint16_t map_port(const TcpTransport& transport, DhtDirectory& directory, bool is_elsewhere,
                       const std::function<bool()>& is_unwanted) {
    const std::uint16_t port = transport.bound_port();
    directory.unmap_port(is_elsewhere);
    const auto end = Clock::now() + kTimeout;
    while (Clock::now() < end && !is_unwanted()) {
        const auto mapped = directory.map_port(port, kMappingTick);
        if (!mapped) continue;
        log_info("the router forwards its port {} to our port {}", *mapped, port);
        return *mapped;
    }
    log_info("no router forwards port {}: peers cannot dial us unless it is open already", port);
    return port;
}

}  // namespace dedloc::net
