#include "project_server/web/http_server.hpp"

#include <fmt/format.h>
#include <httplib.h>

#include <fstream>
#include <utility>

#include "peer/base/log.hpp"
#include "project_server/scheduler/scheduler.hpp"
#include "project_server/scheduler/xml.hpp"
#include "project_server/transfer/accounts.hpp"
#include "project_server/transfer/upload.hpp"
#include "project_server/web/api.hpp"
#include "project_server/web/database_pool.hpp"
#include "project_server/web/http_setup.hpp"
#include "project_server/web/pages.hpp"
#include "project_server/web/run_summaries.hpp"

namespace dedloc::server {
namespace {

namespace fs = std::filesystem;
using httplib::Request;
using httplib::Response;

constexpr std::size_t kThreads = 16;
constexpr std::chrono::seconds kUploadSilence{30};  ///< after which an upload has failed
constexpr std::size_t kMaxRequest = 8 << 20;        // bytes of a scheduler request
constexpr std::size_t kMaxUpload = 1ULL << 32;  // bytes of an upload; certificates set lower limits
constexpr std::size_t kDownloadPiece = 256 * 1024;  // bytes read at once
constexpr int kDownSeconds = 10;  // retry time of clients while the database is unavailable
constexpr const char* kChartScript = "/usr/share/javascript/chart.js/chart.min.js";

std::string fill_in(std::string page, std::string_view field, const std::string& value) {
    const std::string mark = "{{" + std::string{field} + "}}";
    const std::string escaped = escape_markup(value);
    for (auto at = page.find(mark); at != std::string::npos;
         at = page.find(mark, at + escaped.size())) {
        page.replace(at, mark.size(), escaped);
    }
    return page;
}

std::string index_page(const ProjectConfig& config) {
    std::string page = fill_in(kIndexPage, "name", config.name);
    page = fill_in(page, "scheduler", config.scheduler_url());
    return fill_in(page, "master", config.master_url);
}

std::string project_config_page(const ProjectConfig& config, Database& database) {
    std::string platforms;
    for (const Row& row : database.query(
             "select distinct p.name, p.user_friendly_name, v.plan_class from app_version v "
             "join platform p on p.id = v.platformid where v.deprecated = 0 order by p.name")) {
        platforms += fmt::format(
            "    <platform>\n        <platform_name>{}</platform_name>\n"
            "        <user_friendly_name>{}</user_friendly_name>\n"
            "        <plan_class>{}</plan_class>\n    </platform>\n",
            escape_markup(row.text("name")), escape_markup(row.text("user_friendly_name")),
            escape_markup(row.text("plan_class")));
    }
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\" ?>\n<project_config>\n    <name>{0}</name>\n"
        "    <master_url>{1}</master_url>\n    <web_rpc_url_base>{1}</web_rpc_url_base>\n"
        "    <server_version>720</server_version>\n    <web_stopped>0</web_stopped>\n"
        "    <sched_stopped>0</sched_stopped>\n    <min_passwd_length>6</min_passwd_length>\n"
        "    <platforms>\n{2}    </platforms>\n    <terms_of_use>While it trains, this project's "
        "app talks directly to the computers of other volunteers: they can see your IP address."
        "</terms_of_use>\n</project_config>\n",
        escape_markup(config.name), escape_markup(config.master_url), platforms);
}

std::string project_down_reply(const ProjectConfig& config) {
    return fmt::format(
        "<scheduler_reply>\n<scheduler_version>720</scheduler_version>\n<master_url>{}</master_url>"
        "\n<request_delay>{}</request_delay>\n<message priority=\"low\">The project's database is "
        "not available now.</message>\n<project_is_down/>\n</scheduler_reply>\n",
        escape_markup(config.master_url), kDownSeconds);
}

AccountRequest account_request(const Request& request) {
    return {.email = request.get_param_value("email_addr"),
            .password_hash = request.get_param_value("passwd_hash"),
            .name = request.get_param_value("user_name")};
}

void send_file(const fs::path& path, Response& response) {
    std::error_code absent;
    const auto size = fs::file_size(path, absent);
    auto file = std::make_shared<std::ifstream>(path, std::ios::binary);
    if (absent || !fs::is_regular_file(path) || !*file) {
        response.status = 404;
        return;
    }
    response.set_content_provider(
        size, "application/octet-stream",
        [file](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
            std::vector<char> piece(std::min(length, kDownloadPiece));
            file->clear();
            file->seekg(static_cast<std::streamoff>(offset));
            file->read(piece.data(), static_cast<std::streamsize>(piece.size()));
            const auto count = static_cast<std::size_t>(file->gcount());
            return count > 0 && (sink.write(piece.data(), count), true);
        });
}

}  // namespace

/// The routes and the objects that they use.
struct HttpServer::Routes {
    explicit Routes(const ProjectConfig& its_config)
        : config(its_config),
          pool(its_config.database),
          scheduler(its_config),
          uploads(its_config),
          prefix(path_of(its_config.master_url)) {
        set_up(server, kThreads, kMaxUpload);
        server.set_read_timeout(kUploadSilence);
        add_pages();
        add_api();
        add_rpcs();
        add_transfers();
    }

    void get(const std::string& path, httplib::Server::Handler handler) {
        server.Get(literal(prefix + path), std::move(handler));
    }

    void add_pages() {
        const auto page = [this](const std::string& path, std::string text, const char* type) {
            get(path, [text = std::move(text), type](const Request&, Response& response) {
                response.set_content(text, type);
            });
        };
        for (const char* const path : {"/", "/index.html"}) {
            get(path, [this, index = index_page(config)](const Request&, Response& response) {
                response.set_content(with_runs(index), "text/html; charset=utf-8");
            });
        }
        page("/style.css", kStyleSheet, "text/css; charset=utf-8");
        page("/app.js", kPageScript, "text/javascript; charset=utf-8");
        get("/chart.js/chart.min.js", [](const Request&, Response& response) {
            send_file(kChartScript, response);
            response.headers.erase("Content-Type");
            response.set_header("Content-Type", "text/javascript; charset=utf-8");
        });
    }

    /// The page with the table of the runs. BOINC's clients read the page too, so it is served
    /// without the table when the database is not available.
    std::string with_runs(std::string page) {
        constexpr std::string_view kMark = "{{runs}}";
        std::string rows;
        try {
            rows = pool.with(
                [](Database& database) { return runs_table_rows(read_run_summaries(database)); });
        } catch (const DatabaseError& error) {
            log_error("page: {}", error.what());
        }
        return page.replace(page.find(kMark), kMark.size(), rows);
    }

    void add_api() {
        const auto json = [](const std::string& text, Response& response) {
            response.set_header("Cache-Control", "no-store");
            response.set_content(text, "application/json");
        };
        get("/api/runs.json", [this, json](const Request&, Response& response) {
            json(pool.with([](Database& database) { return runs_json(database); }), response);
        });
        get("/api/leaderboard.json", [this, json](const Request&, Response& response) {
            json(pool.with([](Database& database) { return leaderboard_json(database); }),
                 response);
        });
        server.Get(literal(prefix) + R"(/api/run/([^/]{1,64})\.json)",
                   [this, json](const Request& request, Response& response) {
                       const std::string name = request.matches[1];
                       const auto text = pool.with([&](Database& database) {
                           return run_json(database, name, unix_now());
                       });
                       if (!text) {
                           response.status = 404;
                           return;
                       }
                       json(*text, response);
                   });
    }

    void add_rpcs() {
        const auto both = [this](const std::string& path, const httplib::Server::Handler& handler) {
            server.Get(literal(prefix + path), handler);
            server.Post(literal(prefix + path), handler);
        };
        both("/get_project_config.php", [this](const Request&, Response& response) {
            response.set_content(pool.with([this](Database& database) {
                return project_config_page(config, database);
            }),
                                 "text/xml");
        });
        both("/create_account.php", [this](const Request& request, Response& response) {
            response.set_content(pool.with([&](Database& database) {
                return create_account(database, account_request(request), unix_now());
            }),
                                 "text/xml");
        });
        both("/lookup_account.php", [this](const Request& request, Response& response) {
            response.set_content(pool.with([&](Database& database) {
                return look_up_account(database, account_request(request));
            }),
                                 "text/xml");
        });
        server.Post(
            literal(prefix + "/cgi/scheduler"),
            [this](const Request& request, Response& response, const httplib::ContentReader& read) {
                schedule(request, response, read);
            });
    }

    void schedule(const Request& request, Response& response, const httplib::ContentReader& read) {
        std::string body;
        read([&](const char* data, std::size_t size) {
            if (body.size() + size > kMaxRequest) return false;
            body.append(data, size);
            return true;
        });
        std::string reply;
        try {
            reply = pool.with([&](Database& database) {
                return scheduler.serve(database, body, address_of(request), unix_now());
            });
        } catch (const DatabaseError& error) {
            // After an HTTP error the client would back off for up to hours.
            log_error("scheduler request: {}", error.what());
            reply = project_down_reply(config);
        }
        response.set_content(reply, "text/xml");
    }

    void add_transfers() {
        server.Post(literal(path_of(config.upload_url)),
                    [this](const Request&, Response& response, const httplib::ContentReader& read) {
                        UploadRequest upload{uploads};
                        // Read all bytes even if the reply is known: the client reads it only after
                        // sending.
                        read([&](const char* data, std::size_t size) {
                            upload.feed({data, size});
                            return true;
                        });
                        response.set_content(upload.finish(), "text/xml");
                    });
        server.Get(literal(path_of(config.download_url)) + R"(/((?:[0-9a-f]{1,3}/)?[^/]+))",
                   [this](const Request& request, Response& response) {
                       const fs::path path = std::string{request.matches[1]};
                       if (!is_file_name(path.filename().string())) {
                           response.status = 404;
                           return;
                       }
                       send_file(config.download_directory / path, response);
                   });
    }

    const ProjectConfig& config;
    DatabasePool pool;
    const Scheduler scheduler;
    const UploadStore uploads;
    const std::string prefix;
    httplib::Server server;
    HttpRun running{server};
    std::uint16_t port = 0;
};

HttpServer::HttpServer(const ProjectConfig& config, const std::string& host, std::uint16_t port)
    : routes_(std::make_unique<Routes>(config)) {
    routes_->port = bind(routes_->server, host, port);
}

HttpServer::~HttpServer() = default;

void HttpServer::run() {
    routes_->running.run();
}

void HttpServer::stop() {
    routes_->running.stop();
}

std::uint16_t HttpServer::port() const {
    return routes_->port;
}

}  // namespace dedloc::server
