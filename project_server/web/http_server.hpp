// The HTTP side of a project, as BOINC's clients and browsers use it. Listens on loopback behind
// nginx, which copes with TLS and slow clients; it serves downloads too, so that tests need no
// nginx.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "project_server/database/project_config.hpp"

namespace dedloc::server {

class HttpServer {
  public:
    /// Binds at once. `config` must outlive the server. Errors: IoError when the port is taken or
    /// keys are missing.
    HttpServer(const ProjectConfig& config, const std::string& host, std::uint16_t port);
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    /// Serves until stop(). Thread: one, not the one that calls stop().
    void run();
    /// Once, whether run() has begun or is about to. Requests under way are finished. Thread: any.
    void stop();
    std::uint16_t port() const;

  private:
    struct Routes;
    std::unique_ptr<Routes> routes_;
};

}  // namespace dedloc::server
