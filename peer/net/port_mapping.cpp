// Repeats DhtDirectory::map_port() with a short timeout, so that `is_unwanted` is polled between
// the calls. Only the first of them sends requests to the routers.
#include "peer/net/port_mapping.hpp"

#include <chrono>

#include "peer/base/log.hpp"

namespace dedloc::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTimeout{5};
constexpr std::chrono::milliseconds kTick{200};

}  // namespace

void map_port(TcpTransport& transport, DhtDirectory& directory,
              const std::function<bool()>& is_unwanted) {
    const std::uint16_t port = transport.listening_port();
    const auto end = Clock::now() + kTimeout;
    while (Clock::now() < end && !is_unwanted()) {
        const auto mapped = directory.map_port(port, kTick);
        if (!mapped) continue;
        log_info("the router forwards its port {} to our port {}", *mapped, port);
        transport.set_listening_port(*mapped);
        return;
    }
    log_info("no router forwards port {}: peers cannot dial us unless it is open already", port);
}

}  // namespace dedloc::net
