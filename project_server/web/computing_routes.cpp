// The page of a user's computing preferences: a form in general, and one for each venue.
#include <fmt/format.h>
#include <httplib.h>

#include <limits>

#include "peer/base/text.hpp"
#include "project_server/accounts/preference_changes.hpp"
#include "project_server/http/http_setup.hpp"
#include "project_server/web/routes.hpp"

namespace dedloc::server {
namespace {

using httplib::Request;
using httplib::Response;

constexpr const char* kPage = "/account/computing";
constexpr const char* kContent = "computing.html";

/// The fields of a form by their headings.
json::Value::List groups_of(const ComputingValues& values) {
    json::Value::List groups;
    for (std::size_t i = 0; i < values.size();) {
        const std::string heading = kComputingFields[i].group;
        json::Value::List fields;
        for (; i < values.size() && kComputingFields[i].group == heading; ++i) {
            const auto& field = kComputingFields[i];
            json::Value data;
            data.set("field", field.name)
                .set("label", field.label)
                .set("is_flag", field.is_flag)
                .set("is_ticked", field.is_flag && values[i] != 0)
                .set("value", fmt::format("{}", values[i]))
                .set("least", fmt::format("{}", field.min))
                .set("most", fmt::format("{}", field.max));
            fields.push_back(std::move(data));
        }
        json::Value group;
        group.set("heading", heading).set("fields", std::move(fields));
        groups.push_back(std::move(group));
    }
    return groups;
}

Page page_of(Database& database, std::int64_t user) {
    const auto choices = read_computing_choices(database, user);
    json::Value::List forms;
    const auto add = [&](const std::string& venue, const ComputingValues& values, bool has_own) {
        json::Value form;
        form.set("area", "computing")
            .set("venue", venue)
            .set("part", venue.empty() ? "general" : venue)
            .set("has_own", has_own)
            .set("groups", groups_of(values));
        forms.push_back(std::move(form));
    };
    add("", choices.general, true);
    for (const char* const venue : kVenues) {
        const auto own = choices.venues.find(venue);
        const bool has_own = own != choices.venues.end();
        add(venue, has_own ? own->second : choices.general, has_own);
    }
    json::Value data;
    data.set("computing_forms", std::move(forms));
    return {.title = "Computing preferences", .data = std::move(data)};
}

/// The values of a form; a text that is not a number is out of bounds.
ComputingValues values_of(const Form& form) {
    ComputingValues values{};
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto& field = kComputingFields[i];
        if (field.is_flag) {
            values[i] = form.is_ticked(field.name) ? 1 : 0;
            continue;
        }
        values[i] = parse_number<double>(form.value(field.name))
                        .value_or(std::numeric_limits<double>::quiet_NaN());
    }
    return values;
}

void add_computing_form(Site& site, const std::string& part, const std::string& venue) {
    site.add_form(std::string{kPage} + '/' + part, true,
                  [&site, venue](const Request& request, Response& response, const Form& form,
                                 const Visitor& who) {
                      const bool has_own = venue.empty() || form.is_ticked("has_own");
                      std::optional<ComputingValues> values;
                      if (has_own) values = values_of(form);
                      const Refusal refusal = site.pool.with([&](Database& database) {
                          return choose_computing(database, who.user(), venue, values,
                                                  static_cast<std::int64_t>(unix_now()));
                      });
                      if (!refusal) return site.send_on(response, std::string{kPage} + "?done=1");
                      Page page = site.pool.with(
                          [&](Database& database) { return page_of(database, who.user()); });
                      page.data.set("fault", *refusal);
                      site.show(request, response, kContent, std::move(page));
                      response.status = 422;
                  });
}

}  // namespace

void add_computing_routes(Site& site) {
    site.get(kPage, [&site](const Request& request, Response& response) {
        const Visitor who = site.visitor(request);
        if (!who.session) return site.send_on(response, "/account/sign_in");
        Page page =
            site.pool.with([&](Database& database) { return page_of(database, who.user()); });
        page.data.set("is_done", request.get_param_value("done") == "1");
        site.show(request, response, kContent, std::move(page));
    });
    add_computing_form(site, "general", "");
    for (const char* const venue : kVenues) add_computing_form(site, venue, venue);
}

}  // namespace dedloc::server
