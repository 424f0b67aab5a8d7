// Each form is read into a TeamText, and the functions of accounts/ decide: a refusal shows the
// form again with the typed text and status 422, success sends the browser to the team's page.
// The form for editing is for the founder only, and edit_team() refuses others again when the form
// comes back.
#include <httplib.h>

#include <utility>

#include "peer/base/log.hpp"
#include "project_server/accounts/teams.hpp"
#include "project_server/http/http_setup.hpp"
#include "project_server/views/teams.hpp"
#include "project_server/web/routes.hpp"

namespace dedloc::server {
namespace {

using httplib::Request;
using httplib::Response;

constexpr const char* kTeam = "/team/([1-9][0-9]{0,8})";

std::int64_t team_in(const Request& request) {
    return number_of(request.matches[1]).value_or(0);
}

TeamText text_of(const Form& form) {
    return {.name = form.value("name"),
            .url = form.value("url"),
            .country = form.value("country"),
            .description = form.value("description"),
            .is_joinable = form.is_ticked("is_joinable")};
}

/// The form of a team; `team` 0: a new one.
Page form_page(const TeamText& text, std::int64_t team, const std::string& fault = {}) {
    json::Value data;
    data.set("name", text.name)
        .set("url", text.url)
        .set("country", text.country)
        .set("description", text.description)
        .set("is_joinable", text.is_joinable)
        .set("is_new", team == 0)
        .set("action", team == 0 ? "/teams/create" : "/team/" + std::to_string(team) + "/edit")
        .set("fault", fault);
    return {.title = team == 0 ? "Create a team" : "Edit the team", .data = std::move(data)};
}

void show_fault(Site& site, const Request& request, Response& response, const TeamText& text,
                std::int64_t team, const std::string& fault) {
    site.show(request, response, "team_form.html", form_page(text, team, fault));
    response.status = 422;
}

void add_creation(Site& site) {
    site.get("/teams/create", [&site](const Request& request, Response& response) {
        if (!site.visitor(request).session) return site.send_on(response, "/account/sign_in");
        site.show(request, response, "team_form.html", form_page({}, 0));
    });
    site.add_form(
        "/teams/create", true,
        [&site](const Request& request, Response& response, const Form& form, const Visitor& who) {
            std::int64_t team = 0;
            const Refusal refusal = site.pool.with([&](Database& database) {
                return create_team(database, who.user(), text_of(form), unix_now(), team);
            });
            if (refusal) return show_fault(site, request, response, text_of(form), 0, *refusal);
            log_info("team {} created by user {}", team, who.user());
            site.send_on(response, "/team/" + std::to_string(team));
        });
}

void add_editing(Site& site) {
    site.server.Get(literal(site.prefix) + kTeam + "/edit", [&site](const Request& request,
                                                                    Response& response) {
        const Visitor who = site.visitor(request);
        if (!who.session) return site.send_on(response, "/account/sign_in");
        const std::int64_t team = team_in(request);
        const auto found =
            site.pool.with([&](Database& database) { return read_teams(database, {.id = team}); });
        if (found.empty() || found.front().founder_id != who.user()) {
            return site.refuse(request, response, 403, "Only the founder of a team may edit it.");
        }
        site.show(request, response, "team_form.html",
                  form_page({.name = found.front().name,
                             .url = found.front().url,
                             .country = found.front().country,
                             .description = found.front().description,
                             .is_joinable = found.front().is_joinable},
                            team));
    });
    site.add_form(
        std::string{kTeam} + "/edit", true,
        [&site](const Request& request, Response& response, const Form& form, const Visitor& who) {
            const std::int64_t team = team_in(request);
            const Refusal refusal = site.pool.with([&](Database& database) {
                return edit_team(database, who.user(), team, text_of(form));
            });
            if (refusal) {
                return show_fault(site, request, response, text_of(form), team, *refusal);
            }
            site.send_on(response, "/team/" + std::to_string(team));
        });
}

void add_membership(Site& site) {
    site.add_form(
        std::string{kTeam} + "/join", true,
        [&site](const Request& request, Response& response, const Form&, const Visitor& who) {
            const std::int64_t team = team_in(request);
            const Refusal refusal = site.pool.with(
                [&](Database& database) { return join_team(database, who.user(), team); });
            if (refusal) return site.refuse(request, response, 422, *refusal);
            site.send_on(response, "/team/" + std::to_string(team));
        });
    site.add_form("/account/leave_team", true,
                  [&site](const Request&, Response& response, const Form&, const Visitor& who) {
                      site.pool.with([&](Database& database) {
                          leave_team(database, who.user());
                          return true;
                      });
                      site.send_on(response, "/account");
                  });
}

}  // namespace

void add_team_routes(Site& site) {
    add_creation(site);
    add_editing(site);
    add_membership(site);
}

}  // namespace dedloc::server
