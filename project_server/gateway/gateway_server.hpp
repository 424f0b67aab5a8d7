// The gateway's HTTP server, which issues tickets to peers. It listens on loopback behind nginx,
// beside dedloc-server, or behind the Apache of an official BOINC server.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "project_server/database/project_config.hpp"
#include "project_server/gateway/tickets.hpp"

namespace dedloc::gateway {

/// The addresses that a gateway listens on.
struct GatewayAddress {
    std::string host = "127.0.0.1";   ///< numeric
    std::uint16_t port = 0;           ///< 0: any
    std::string proxy = "127.0.0.1";  ///< the web server in front; its X-Forwarded-For is believed
};

/// The HTTP server of one project's gateway.
class GatewayServer {
  public:
    /// Binds the port. `state` holds keys/ticket.key and runs/ (server::state_folder()). On another
    /// address than loopback it serves the proxy only.
    /// Errors: IoError if the port is in use; as RunSigner's.
    GatewayServer(const server::ProjectConfig& config, const std::filesystem::path& state,
                  const GatewayAddress& address, const TicketLimits& limits = {});
    ~GatewayServer();
    GatewayServer(const GatewayServer&) = delete;
    GatewayServer& operator=(const GatewayServer&) = delete;

    /// Serves until stop(). Thread: one, not the one that calls stop().
    void run();
    /// Call once, also before run(). Requests in progress are finished. Thread: any.
    void stop();
    /// The port it is bound to.
    std::uint16_t port() const;

  private:
    struct Routes;
    std::unique_ptr<Routes> routes_;
};

}  // namespace dedloc::gateway
