// The pages answer as pages that do not exist unless the session's account is an administrator's,
// so they tell no visitor which accounts are. They are read for each request and never kept, here
// or in a browser's cache.
#include <httplib.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "project_server/database/administrators.hpp"
#include "project_server/http/http_setup.hpp"
#include "project_server/views/activity.hpp"
#include "project_server/views/notice_list.hpp"
#include "project_server/views/old_versions.hpp"
#include "project_server/views/runs.hpp"
#include "project_server/web/routes.hpp"

namespace dedloc::server {
namespace {

using httplib::Request;
using httplib::Response;

constexpr int kNoticesShown = 20;
constexpr int kDefaultHours = 24;

/// A page for administrators; nothing: status 404.
using AdminPage = std::function<std::optional<Page>(Database&, const Request&)>;

void answer_administrator(Site& site, const std::string& content, const AdminPage& read,
                          bool is_json, const Request& request, Response& response) {
    const Visitor who = site.visitor(request);
    if (!who.session) {
        if (is_json) return site.refuse(request, response, 401, "Sign in first.");
        return site.send_on(response, "/account/sign_in");
    }
    auto page = site.pool.with([&](Database& database) -> std::optional<Page> {
        if (!is_administrator(database, who.user())) return std::nullopt;
        return read(database, request);
    });
    if (!page) return site.refuse(request, response, 404, "There is no such page.");
    if (!is_json) {
        page->has_json = true;
        return site.show(request, response, content, std::move(*page));
    }
    response.set_header("Cache-Control", "no-store");
    response.set_content(json::write(page->data), "application/json");
}

void add_admin_page(Site& site, const std::string& path, const std::string& content,
                    const AdminPage& read) {
    const std::string pattern = literal(site.prefix) + path;
    for (const bool is_json : {true, false}) {  // the JSON's address first: it is the longer one
        site.server.Get(
            is_json ? pattern + R"(\.json)" : pattern,
            [&site, content, read, is_json](const Request& request, Response& response) {
                answer_administrator(site, content, read, is_json, request, response);
            });
    }
}

std::optional<Page> overview(Database& database, const Request&) {
    json::Value data = notice_list(database, kNoticesShown);
    data.set("runs", run_summaries(database))
        .set("old", old_version_list(read_old_versions(database)));
    return Page{.title = "Administration", .data = std::move(data)};
}

std::optional<Page> activity_page(Database& database, const Request& request) {
    const std::string name = request.matches[1];
    if (read_runs(database, {.name = name}).empty()) return std::nullopt;
    const auto hours = number_of(request.get_param_value("hours")).value_or(kDefaultHours);
    return Page{.title = "Activity of run " + name,
                .data = run_activity(database, {.run = name,
                                                .hours = static_cast<int>(std::clamp<std::int64_t>(
                                                    hours, 1, kMaxActivityHours)),
                                                .now = unix_now()})};
}

}  // namespace

void add_admin_routes(Site& site) {
    add_admin_page(site, "/admin/run/([A-Za-z0-9_-]{1,64})", "admin_run.html", activity_page);
    add_admin_page(site, "/admin", "admin.html", overview);
}

}  // namespace dedloc::server
