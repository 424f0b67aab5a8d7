// Each page is a PageRoute and a function that reads its data; Site makes HTML and JSON of it and
// keeps answers for `life`. Pages about one user, team or computer have no life and are read for
// each request. Pages that stay up without the database have a second function, which shows a bare
// page or the picture that the run's backbone sends. Addresses of BOINC's servers are added beside
// ours with the same function. The metrics lose only their part from the database.
#include <httplib.h>

#include <utility>

#include "peer/base/log.hpp"
#include "project_server/database/join_policy.hpp"
#include "project_server/http/http_setup.hpp"
#include "project_server/url.hpp"
#include "project_server/views/feeds.hpp"
#include "project_server/views/figures.hpp"
#include "project_server/views/hosts.hpp"
#include "project_server/views/leaders.hpp"
#include "project_server/views/news_list.hpp"
#include "project_server/views/runs.hpp"
#include "project_server/views/server_status.hpp"
#include "project_server/views/teams.hpp"
#include "project_server/views/users.hpp"
#include "project_server/web/live_runs.hpp"
#include "project_server/web/metrics.hpp"
#include "project_server/web/routes.hpp"
#include "project_server/web/stock_addresses.hpp"
#include "project_server/xml/xml.hpp"

namespace dedloc::server {
namespace {

using namespace std::chrono_literals;
using httplib::Request;
using httplib::Response;

// How long all viewers get the same answer.
constexpr auto kLiveLife = 2s;
constexpr auto kSlowLife = 60s;

constexpr int kNewsAtHome = 3;
constexpr int kNews = 50;

constexpr const char* kId = "/([1-9][0-9]{0,8})";

std::int64_t id_in(const PageRequest& request) {
    return number_of(request.captures.front()).value_or(0);
}

/// A page about one row of a table.
std::optional<Page> page_of(std::optional<json::Value> data, std::string title) {
    if (!data) return std::nullopt;
    return Page{.title = std::move(title), .data = std::move(*data)};
}

void add_start(Site& site) {
    const auto home = [&site](Database& database, const PageRequest&) -> std::optional<Page> {
        json::Value data;
        const double now = unix_now();
        data.set("has_database", true)
            .set("user_count", count_of(database, Figure::kUsersWithCredit, now))
            .set("host_count", count_of(database, Figure::kHostsWithCredit, now))
            .set("team_count", count_of(database, Figure::kTeams, now))
            .set("runs", run_summaries(database))
            .set("by_invitation", join_policy(database) == JoinPolicy::kInvitation)
            .set("news", news_list(database, kNewsAtHome));
        data.set("has_news", !std::get<json::Value::List>(data.field("news").value()).empty());
        return Page{.title = site.config.name, .data = std::move(data)};
    };
    // BOINC's clients read the home page too, which names the scheduler.
    const auto bare = [&site](const PageRequest&) {
        json::Value data;
        data.set("has_database", false);
        return Page{.title = site.config.name, .data = std::move(data)};
    };
    for (const char* const path : {"/(?:index)?", "/index.(?:html|php)"}) {
        site.add_page({.path = path,
                       .content = "home.html",
                       .is_home = true,
                       .without_database = bare,
                       .life = 5s},
                      home);
    }
    site.add_page({.path = "/news", .content = "news.html", .life = 5s},
                  [](Database& database, const PageRequest&) {
                      json::Value data;
                      data.set("news", news_list(database, kNews));
                      return Page{.title = "News", .data = std::move(data)};
                  });
    const auto join = [](bool by_invitation) {
        json::Value data;
        data.set("by_invitation", by_invitation);
        return Page{.title = "How to join", .data = std::move(data)};
    };
    site.add_page({.path = "/join",
                   .content = "join.html",
                   .without_database = [join](const PageRequest&) { return join(false); },
                   .life = 5s},
                  [join](Database& database, const PageRequest&) {
                      return join(join_policy(database) == JoinPolicy::kInvitation);
                  });
}

void add_runs(Site& site) {
    const auto live_runs = [&site](const PageRequest&) {
        json::Value data;
        data.set("without_database", true).set("runs", live_run_list(site.live.pictures()));
        return Page{.title = "Training runs", .data = std::move(data)};
    };
    site.add_page(
        {.path = "/runs", .content = "runs.html", .without_database = live_runs, .life = kLiveLife},
        [](Database& database, const PageRequest&) {
            json::Value data;
            data.set("runs", run_summaries(database));
            return Page{.title = "Training runs", .data = std::move(data)};
        });
    const auto live_run = [&site](const PageRequest& request) -> std::optional<Page> {
        const std::string& name = request.captures.front();
        const auto picture = site.live.picture(name);
        if (!picture) throw DatabaseError{"neither the database nor the run's backbone answers", 0};
        return Page{.title = "Run " + name, .data = live_run_data(*picture)};
    };
    site.add_page({.path = "/run/([A-Za-z0-9_-]{1,64})",
                   .content = "run.html",
                   .without_database = live_run,
                   .life = kLiveLife},
                  [&site](Database& database, const PageRequest& request) {
                      const std::string& name = request.captures.front();
                      return page_of(run_data(database, site.histories, name, unix_now()),
                                     "Run " + name);
                  });
}

void add_leaders(Site& site) {
    struct Board {
        Ranked ranked;
        const char* name;
        const char* title;
    };
    for (const Board& board : {Board{Ranked::kUsers, "users", "Volunteers by credit"},
                               Board{Ranked::kTeams, "teams", "Teams by credit"},
                               Board{Ranked::kHosts, "hosts", "Computers by credit"},
                               Board{Ranked::kCountries, "countries", "Countries by credit"}}) {
        const std::string name = board.name;
        const auto read = [board](Database& database, const PageRequest& request) {
            return Page{
                .title = board.title,
                .data = leaders_data(database, board.ranked, request.by_recent, request.page)};
        };
        site.add_page({.path = "/" + name, .content = name + ".html", .life = kSlowLife}, read);
        // The address on BOINC's servers.
        site.add_page(
            {.path = "/top_" + name + R"(\.php)", .content = name + ".html", .life = kSlowLife},
            read);
    }
}

void add_rows(Site& site) {
    site.add_page({.path = std::string{"/user"} + kId, .content = "user.html"},
                  [](Database& database, const PageRequest& request) {
                      return page_of(user_data(database, id_in(request)), "Volunteer");
                  });
    site.add_page({.path = std::string{"/team"} + kId, .content = "team.html"},
                  [](Database& database, const PageRequest& request) {
                      return page_of(team_data(database, id_in(request), request.viewer), "Team");
                  });
    site.add_page({.path = std::string{"/host"} + kId, .content = "host.html"},
                  [](Database& database, const PageRequest& request) {
                      return page_of(host_data(database, id_in(request), request.viewer),
                                     "Computer " + request.captures.front());
                  });
}

void add_status(Site& site) {
    const auto status = [&site](Database& database) {
        return status_data(database, site.config, unix_now());
    };
    site.add_page({.path = "/server_status", .content = "server_status.html", .life = kSlowLife},
                  [status](Database& database, const PageRequest&) {
                      return Page{.title = "Server status", .data = status(database)};
                  });
    site.get("/server_status.php", [&site, status](const Request& request, Response& response) {
        if (request.get_param_value("counts") == "1") {
            response.set_content(site.text_of("job_counts.xml", kLiveLife, job_counts_xml),
                                 "text/xml; charset=utf-8");
            return;
        }
        if (request.get_param_value("xml") != "1") {
            return send_without_key(site, response, "/server_status");
        }
        response.set_content(
            site.text_of("server_status.xml", kSlowLife,
                         [&](Database& database) {
                             return status_xml(
                                 status(database),
                                 required_url(site.config.master_url, "<master_url>").host);
                         }),
            "text/xml; charset=utf-8");
    });
}

/// Prometheus asks every 15 s or so; anyone may, since nothing here is secret.
void add_metrics(Site& site) {
    site.get("/metrics", [&site](const Request&, Response& response) {
        std::string text = live_metrics(site.live.pictures());
        try {
            text += site.text_of("metrics", 5s, [](Database& database) {
                return project_metrics(database, unix_now());
            });
            text += database_metric(true);
        } catch (const DatabaseError& error) {
            log_error("metrics without the database: {}", error.what());
            text += database_metric(false);
        }
        const std::string name = "dedloc_request_seconds";
        text += "# HELP " + name + " Time to answer a request.\n# TYPE " + name + " histogram\n" +
                site.scheduler_times.text(name, "kind=\"scheduler\"") +
                site.page_times.text(name, "kind=\"page\"");
        response.set_header("Cache-Control", "no-store");
        response.set_content(text, "text/plain; version=0.0.4; charset=utf-8");
    });
}

}  // namespace

void add_public_routes(Site& site) {
    add_start(site);
    add_runs(site);
    add_leaders(site);
    add_rows(site);
    add_status(site);
    add_metrics(site);
}

}  // namespace dedloc::server
