// The HTTP server of a project for BOINC clients and browsers. Listens on loopback behind nginx,
// which handles slow clients. It can serve downloads too, so that tests need no nginx.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "project_server/accounts/mail.hpp"
#include "project_server/database/project_config.hpp"

namespace dedloc::server {

/// Serves one project.
class HttpServer {
  public:
    /// Binds to the port; 0: any. `config` must outlive the server. Errors: IoError if the port is
    /// taken or keys are missing.
    HttpServer(const ProjectConfig& config, const std::string& host, std::uint16_t port,
               MailSettings mail = {});
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    /// Serves until stop(). Thread: one, not the one that calls stop().
    void run();
    /// Ends run(), also one that is about to begin; requests in progress are finished. Call it
    /// once. Thread: any.
    void stop();
    /// The port that it is bound to.
    std::uint16_t port() const;

  private:
    struct Routes;
    std::unique_ptr<Routes> routes_;
};

}  // namespace dedloc::server
