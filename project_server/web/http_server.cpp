#include "project_server/web/http_server.hpp"

#include <httplib.h>

#include <utility>

#include "project_server/web/http_setup.hpp"
#include "project_server/web/live_events.hpp"
#include "project_server/web/routes.hpp"

namespace dedloc::server {
namespace {

constexpr std::size_t kThreads = 16;
constexpr std::chrono::seconds kUploadSilence{30};  ///< after which an upload has failed
constexpr std::size_t kMaxUpload = 1ULL << 32;  // bytes of an upload; certificates set lower limits

}  // namespace

/// The routes and the objects that they use.
struct HttpServer::Routes {
    Routes(const ProjectConfig& config, MailSettings settings)
        : pool(config.database),
          mailer(std::move(settings)),
          scheduler(config),
          uploads(config),
          live_events(config.directory / "runs"),
          site(config, pool, mailer, server) {
        set_up(server, kThreads + kMaxStreams, kMaxUpload);
        server.set_read_timeout(kUploadSilence);
        add_public_routes(site);
        add_account_routes(site);
        add_computing_routes(site);
        add_mail_routes(site);
        add_team_routes(site);
        add_rpc_routes(site, scheduler);
        add_file_routes(site, uploads);
        live_events.add_route(server, site.prefix);
    }

    DatabasePool pool;
    Mailer mailer;  ///< its thread uses the pool
    const Scheduler scheduler;
    const UploadStore uploads;
    LiveEvents live_events;
    httplib::Server server;
    Site site;
    HttpRun running{server};
    std::uint16_t port = 0;
};

HttpServer::HttpServer(const ProjectConfig& config, const std::string& host, std::uint16_t port,
                       MailSettings mail)
    : routes_(std::make_unique<Routes>(config, std::move(mail))) {
    routes_->port = bind(routes_->server, host, port);
}

HttpServer::~HttpServer() = default;

void HttpServer::run() {
    routes_->running.run();
}

void HttpServer::stop() {
    routes_->live_events.stop();
    routes_->running.stop();
}

std::uint16_t HttpServer::port() const {
    return routes_->port;
}

}  // namespace dedloc::server
