// Routes owns all objects that handlers use. Its members are in the order of their dependencies,
// and its constructor adds the check of heads and the error pages before the routes, and the stock
// addresses behind those of all areas, whose .php files they would answer for. The pool has a
// thread for each stream, upload and sign-in that may wait at a time, besides kThreads. stop() ends
// the streams first, as each of them holds a thread.
#include "project_server/web/http_server.hpp"

#include <httplib.h>

#include <utility>

#include "peer/base/log.hpp"
#include "project_server/http/http_setup.hpp"
#include "project_server/http/request_head.hpp"
#include "project_server/transfer/upload_limits.hpp"
#include "project_server/url.hpp"
#include "project_server/views/tasks.hpp"
#include "project_server/web/live_events.hpp"
#include "project_server/web/routes.hpp"
#include "project_server/web/stock_addresses.hpp"

namespace dedloc::server {
namespace {

constexpr std::size_t kThreads = 16;  // more are there for streams, uploads and waiting sign-ins
constexpr std::chrono::seconds kUploadSilence{30};  ///< after which an upload has failed

using httplib::Request;
using httplib::Response;

/// Refuses requests before httplib reads their bodies.
void add_head_check(Site& site) {
    const std::string uploads = required_url(site.config.upload_url, "<upload_url>").folder();
    const std::string scheduler = site.prefix + kSchedulerPath;
    site.server.set_pre_routing_handler([=](const Request& request, Response& response) {
        using Handled = httplib::Server::HandlerResponse;
        std::size_t largest = kMaxBody;
        if (request.path == uploads) largest = kMaxUploadBytes;
        if (request.path == scheduler) largest = kMaxSchedulerRequest;
        const auto refusal = refusal_of(request, largest);
        if (!refusal) return Handled::Unhandled;
        response.status = refusal->status;
        response.set_content(refusal->sentence, "text/plain");
        return Handled::Handled;
    });
}

}  // namespace

/// The routes and the objects that they use.
struct HttpServer::Routes {
    Routes(const ProjectConfig& config, MailSettings settings)
        : pool(config.database),
          mailer(std::move(settings), config.database,
                 [&config](MailPurpose purpose, const std::string& secret) {
                     return compose_mail(config, purpose, secret);
                 }),
          scheduler(config),
          uploads(config, [this](const std::string& result) { return account_of(result); }),
          live_events(config.directory / "runs"),
          site(config, pool, mailer, live_events, server) {
        set_up(server, kThreads + HashLimits{}.waiting + kMaxStreams + kMaxUploads,
               kMaxUploadBytes);
        server.set_read_timeout(kUploadSilence);
        add_head_check(site);
        add_error_pages(site);
        add_public_routes(site);
        add_account_routes(site);
        add_computing_routes(site);
        add_mail_routes(site);
        add_team_routes(site);
        add_admin_routes(site);
        add_rpc_routes(site, scheduler);
        add_manager_routes(site);
        add_file_routes(site, uploads);
        add_stock_addresses(site);
        live_events.add_route(server, site.prefix);
    }

    /// While the database is away uploads go on, and are not counted.
    std::int64_t account_of(const std::string& result) {
        try {
            return pool.with([&](Database& database) { return owner_of_task(database, result); });
        } catch (const DatabaseError& error) {
            log_warning("an upload is not counted: {}", error.what());
            return 0;
        }
    }

    DatabasePool pool;
    Mailer mailer;
    const Scheduler scheduler;
    const UploadStore uploads;
    LiveEvents live_events;
    httplib::Server server;
    Site site;
    HttpRun running{server};
};

HttpServer::HttpServer(const ProjectConfig& config, const std::string& host, std::uint16_t port,
                       MailSettings mail)
    : routes_(std::make_unique<Routes>(config, std::move(mail))) {
    routes_->running.bind(host, port);
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
    return routes_->running.port();
}

}  // namespace dedloc::server
