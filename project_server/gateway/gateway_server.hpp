// The gateway over HTTP: where peers get their tickets. Listens on loopback behind nginx, beside
// dedloc-server or an official BOINC server.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "peer/base/digest.hpp"
#include "project_server/database/project_config.hpp"

namespace dedloc::gateway {

class GatewayServer {
  public:
    /// Binds at once; `key` is the project's. Errors: IoError
    /// when the port is taken.
    GatewayServer(const server::ProjectConfig& config, const KeyPair& key, const std::string& host,
                  std::uint16_t port);
    ~GatewayServer();
    GatewayServer(const GatewayServer&) = delete;
    GatewayServer& operator=(const GatewayServer&) = delete;

    /// Serves until stop(). Thread: one, not the one that calls stop().
    void run();
    /// Once, whether run() has begun or is about to. Requests under way are finished. Thread: any.
    void stop();
    std::uint16_t port() const;

  private:
    struct Routes;
    std::unique_ptr<Routes> routes_;
};

}  // namespace dedloc::gateway
