// The gateway's HTTP server, which issues tickets to peers. It listens on loopback behind nginx,
// beside dedloc-server or an official BOINC server.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "peer/base/digest.hpp"
#include "project_server/database/project_config.hpp"

namespace dedloc::gateway {

/// The HTTP server of one project's gateway.
class GatewayServer {
  public:
    /// Binds the port; 0 chooses a free one. `key` is the project's. Errors: IoError if the port is
    /// in use.
    GatewayServer(const server::ProjectConfig& config, const KeyPair& key, const std::string& host,
                  std::uint16_t port);
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
