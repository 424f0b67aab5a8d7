// What account managers and sites of statistics ask for, and the answers to programs that submit
// jobs or take this project for something else: XML with HTTP status 200, because they read BOINC's
// error numbers there. A client that gets another status goes on asking.
#include <config.h>

#include <error_numbers.h>
#include <fmt/format.h>
#include <httplib.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "peer/base/log.hpp"
#include "peer/base/markup.hpp"
#include "project_server/accounts/account_manager.hpp"
#include "project_server/accounts/account_request.hpp"
#include "project_server/accounts/people_xml.hpp"
#include "project_server/http/http_setup.hpp"
#include "project_server/views/feeds.hpp"
#include "project_server/web/routes.hpp"
#include "project_server/web/stock_addresses.hpp"

namespace dedloc::server {
namespace {

using namespace std::chrono_literals;
using httplib::Request;
using httplib::Response;

constexpr auto kListLife = 60s;  // lists that cost much and are the same for all clients
constexpr int kNewsInFeed = 20;
constexpr int kNotOffered = -1;  // BOINC's number of errors that have none

/// A request of an account manager. Keys have 128 bits, so attempts need no limit but nginx's.
using ManagerAnswer = std::function<std::string(Database&, const Request&)>;

void answer_manager(Site& site, const Request& request, Response& response,
                    const ManagerAnswer& answer) {
    response.set_header("Cache-Control", "no-store");
    try {
        std::optional<HashTurns::Turn> turn;
        if (request.has_param("password_hash")) turn.emplace(site.hash_turns, address_of(request));
        response.set_content(
            site.pool.with([&](Database& database) { return answer(database, request); }), kXml);
    } catch (const TooBusyError& error) {
        response.set_content(account_error(ERR_PROJECT_DOWN, error.what()), kXml);
    } catch (const RefusedData& error) {
        response.set_content(reply_of(request, error), kXml);
    } catch (const DatabaseError& error) {
        log_error("{}: {}", request.path, error.what());
        response.set_content(account_error(ERR_PROJECT_DOWN, kNoDatabase), kXml);
    }
}

/// GET and POST of exactly this path.
void add_both(Site& site, const char* path, const Site::Handler& handler) {
    site.server.Get(literal(site.prefix + path), handler);
    site.server.Post(literal(site.prefix + path), handler);
}

std::string set_info(Database& database, const Request& request) {
    return set_account_info(
        database, request.get_param_value("account_key"),
        [&](const char* name) -> std::optional<std::string> {
            if (!request.has_param(name)) return std::nullopt;
            return request.get_param_value(name);
        },
        unix_now());
}

std::string set_host(Database& database, const Request& request) {
    return set_host_venue(database, request.get_param_value("account_key"),
                          number_of(request.get_param_value("hostid")).value_or(0),
                          request.get_param_value("venue"));
}

void add_accounts(Site& site) {
    const auto add = [&site](const char* path, const ManagerAnswer& answer) {
        add_both(site, path, [&site, answer](const Request& request, Response& response) {
            answer_manager(site, request, response, answer);
        });
    };
    add("/am_get_info.php", [](Database& database, const Request& request) {
        return account_info(database, request.get_param_value("account_key"));
    });
    add("/am_set_info.php", set_info);
    add("/am_set_host_info.php", set_host);
}

void add_people(Site& site) {
    site.get("/show_user.php", [&site](const Request& request, Response& response) {
        const auto user = number_of(request.get_param_value("userid")).value_or(0);
        if (request.get_param_value("format") != "xml") {
            return send_without_key(site, response,
                                    user == 0 ? "/account" : "/user/" + std::to_string(user));
        }
        answer_manager(site, request, response, [user](Database& database, const Request& asked) {
            return asked.has_param("auth")
                       ? user_xml_by_key(database, asked.get_param_value("auth"))
                       : user_xml(database, user);
        });
    });
    site.get("/team_lookup.php", [&site](const Request& request, Response& response) {
        const auto team = number_of(request.get_param_value("team_id")).value_or(0);
        const std::string ids = request.get_param_value("team_ids");
        if (team == 0 && ids.empty() && request.get_param_value("format") != "xml") {
            return send_without_key(site, response, "/teams");
        }
        answer_manager(site, request, response, [&](Database& database, const Request& asked) {
            if (team != 0) return team_xml(database, team);
            if (!ids.empty()) return teams_xml(database, ids);
            return teams_named_xml(database, asked.get_param_value("team_name"));
        });
    });
    site.get("/team_email_list.php", [&site](const Request& request, Response& response) {
        const auto team = number_of(request.get_param_value("teamid")).value_or(0);
        if (request.get_param_value("xml") != "1") {
            return send_without_key(site, response, "/team/" + std::to_string(team));
        }
        const bool only_credit = request.get_param_value("creditonly") == "1";
        answer_manager(site, request, response, [&](Database& database, const Request&) {
            return team_members_xml(database, team, only_credit);
        });
    });
}

/// A list that is computed once for all who ask for it.
void answer_list(Site& site, const std::string& name, const Request& request, Response& response,
                 const std::function<std::string(Database&)>& compute) {
    try {
        response.set_content(site.text_of(name, kListLife, compute), "text/xml; charset=utf-8");
    } catch (const RefusedData& error) {
        response.set_content(reply_of(request, error), kXml);
    } catch (const DatabaseError& error) {
        log_error("{}: {}", request.path, error.what());
        response.set_content(account_error(ERR_PROJECT_DOWN, kNoDatabase), kXml);
    }
}

void add_lists(Site& site) {
    site.get("/apps.php", [&site](const Request& request, Response& response) {
        if (request.get_param_value("xml").empty()) {
            return send_without_key(site, response, "/server_status");
        }
        answer_list(site, "apps.xml", request, response, versions_xml);
    });
    // Both are feeds of the project's news; BOINC's notices.php also has those of the user.
    for (const char* const path : {"/rss_main.php", "/notices.php"}) {
        site.get(path, [&site](const Request& request, Response& response) {
            answer_list(site, "news.rss", request, response, [&site](Database& database) {
                return news_feed(database, site.config, kNewsInFeed);
            });
        });
    }
}

/// Figures by which BOINC's servers pay: the FLOPS that they have measured of each app version.
/// Here a run's ledger says what is paid, so no version has any.
void add_measured_versions(Site& site) {
    struct Empty {
        const char* path;
        const char* xml;
    };
    for (const Empty& empty :
         {Empty{"/app_versions.php", "<app_versions>\n</app_versions>\n"},
          Empty{"/gpu_ratios.php",
                "<scale_factors>\n<total_credit>0</total_credit>\n</scale_factors>\n"}}) {
        site.get(empty.path, [empty](const Request&, Response& response) {
            response.set_content(std::string{kXmlHeader} + empty.xml, kXml);
        });
    }
}

/// Requests that this server refuses, with the sentence that the program's user reads.
void add_refusals(Site& site) {
    struct Refused {
        const char* path;
        int number;
        const char* sentence;
    };
    // Login tokens are in the names of installers that boinc.berkeley.edu makes for the projects of
    // its list; the client asks once and goes on without.
    for (const Refused& refused :
         {Refused{"/login_token_lookup.php", ERR_DB_NOT_FOUND,
                  "This project gives out no login tokens."},
          Refused{"/create_team.php", kNotOffered, "Teams are created on the web page."},
          Refused{"/result_status.php", kNotOffered, "Tasks are shown to their owners only."},
          Refused{"/submit_rpc_handler.php", kNotOffered, "This project takes no jobs of others."},
          Refused{"/job_file.php", kNotOffered, "This project takes no jobs of others."},
          Refused{"/get_output.php", kNotOffered, "This project takes no jobs of others."}}) {
        add_both(site, refused.path, [refused](const Request&, Response& response) {
            response.set_header("Cache-Control", "no-store");
            response.set_content(manager_error(refused.number, refused.sentence), kXml);
        });
    }
    // What a client asks a URL that its user has entered as an account manager's.
    add_both(site, "/rpc.php", [&site](const Request&, Response& response) {
        response.set_content(
            fmt::format("{}<acct_mgr_reply>\n<name>{}</name>\n<error_num>{}</error_num>\n"
                        "<error_msg>{}</error_msg>\n</acct_mgr_reply>\n",
                        kXmlHeader, escape_markup(site.config.name), kNotOffered,
                        "This is a project, not an account manager: add it as a project."),
            kXml);
    });
}

}  // namespace

void add_manager_routes(Site& site) {
    add_accounts(site);
    add_people(site);
    add_lists(site);
    add_measured_versions(site);
    add_refusals(site);
}

}  // namespace dedloc::server
