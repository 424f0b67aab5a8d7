// status_data() makes one JSON object, with a count over an index for most figures, and
// status_xml() makes its text of that object, so both formats have the same figures. The fields are
// named as BOINC's elements, so elements() copies them without a table of its own. A daemon runs if
// the process in its pid file can be signalled, or belongs to another account.
#include "project_server/views/server_status.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <variant>
#include <vector>

#include "peer/base/markup.hpp"
#include "project_server/database/states.hpp"
#include "project_server/publishing/app_version.hpp"
#include "project_server/views/figures.hpp"
#include "project_server/views/safe_link.hpp"

namespace dedloc::server {
namespace {

namespace fs = std::filesystem;

constexpr double kDay = 86'400;
constexpr double kHour = 3600;

json::Value::List daemons(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator{folder, absent}) {
        if (entry.path().extension() == ".pid") files.push_back(entry.path());
    }
    std::ranges::sort(files);
    json::Value::List list;
    for (const fs::path& file : files) {
        long process = 0;
        std::ifstream{file} >> process;
        const bool is_running =
            process > 0 && (kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM);
        json::Value daemon;
        daemon.set("name", file.stem().string()).set("is_running", is_running);
        list.push_back(std::move(daemon));
    }
    return list;
}

/// The versions that volunteers get, each with the address of its bill of materials if it has one.
json::Value::List versions(Database& database, const ProjectConfig& config) {
    json::Value::List list;
    for (const Row& row :
         database.query("select a.name as app, a.user_friendly_name, v.version_num, v.plan_class, "
                        "p.name as platform "
                        "from app_version v join app a on a.id = v.appid join platform p on p.id = "
                        "v.platformid where v.deprecated = 0 and a.deprecated = 0 order by a.name, "
                        "v.version_num desc, p.name, v.plan_class")) {
        const std::int64_t number = row.integer("version_num");
        const std::string bill = bill_name(row);
        const bool has_bill = fs::exists(config.download_directory / bill);
        json::Value data;
        data.set("name", row.text("user_friendly_name"))
            .set("version", fmt::format("{}.{:02}", number / 100, number % 100))
            .set("platform", row.text("platform"))
            .set("plan_class", row.text("plan_class"))
            .set("bill", has_bill ? safe_link(config.download_url + '/' + bill) : "");
        list.push_back(std::move(data));
    }
    return list;
}

json::Value job_counts(Database& database, double now) {
    using enum Figure;
    const auto backlog = database.query_one(
        "select min(transition_time) as first from workunit where transition_time < ?", {now});
    const double hours = backlog->is_null("first") ? 0 : (now - backlog->real("first")) / kHour;
    json::Value data;
    data.set("results_ready_to_send", count_of(database, kResultsReadyToSend, now))
        .set("results_in_progress", count_of(database, kResultsInProgress, now))
        .set("workunits_waiting_for_validation", count_of(database, kWorkunitsToValidate, now))
        .set("workunits_waiting_for_assimilation", count_of(database, kWorkunitsToAssimilate, now))
        .set("workunits_waiting_for_deletion", count_of(database, kWorkunitsToDelete, now))
        .set("results_waiting_for_deletion", count_of(database, kResultsToDelete, now))
        .set("transitioner_backlog_hours", hours);
    return data;
}

json::Value user_counts(Database& database, double now) {
    using enum Figure;
    json::Value data;
    data.set("users_with_recent_credit", count_of(database, kUsersWithRecentCredit, now))
        .set("users_with_credit", count_of(database, kUsersWithCredit, now))
        .set("users_registered_in_past_24_hours", count_of(database, kUsersRegisteredLastDay, now));
    return data;
}

json::Value host_counts(Database& database, double now) {
    using enum Figure;
    const auto speed = database.query_one(
        "select coalesce(sum(expavg_credit), 0) as credit from host where expavg_credit > 1");
    json::Value data;
    data.set("hosts_with_recent_credit", count_of(database, kHostsWithRecentCredit, now))
        .set("hosts_with_credit", count_of(database, kHostsWithCredit, now))
        .set("hosts_registered_in_past_24_hours", count_of(database, kHostsRegisteredLastDay, now))
        // A cobblestone is 1/200 day of a gigaflop per second.
        .set("current_floating_point_speed", speed->real("credit") / 200);
    return data;
}

/// The results of an app in a state.
std::int64_t count_of_app(Database& database, std::int64_t app, ServerState state) {
    return database
        .query_one("select count(*) as n from result where appid = ? and server_state = ?",
                   {app, state})
        ->integer("n");
}

json::Value::List apps(Database& database, double now) {
    json::Value::List list;
    for (const Row& app : database.query(
             "select id, name, user_friendly_name from app where deprecated = 0 order by id")) {
        const std::int64_t id = app.integer("id");
        const auto recent = database.query_one(
            "select count(distinct userid) as users, coalesce(avg(elapsed_time), 0) / 3600 as "
            "mean, coalesce(min(elapsed_time), 0) / 3600 as least, coalesce(max(elapsed_time), 0) "
            "/ 3600 as most from result where appid = ? and server_state = ? and outcome = ? and "
            "received_time > ?",
            {id, ServerState::kOver, ResultOutcome::kSuccess, now - kDay});
        json::Value data;
        data.set("id", id)
            .set("short_name", app.text("name"))
            .set("name", app.text("user_friendly_name"))
            .set("unsent", count_of_app(database, id, ServerState::kUnsent))
            .set("in_progress", count_of_app(database, id, ServerState::kInProgress))
            .set("avg_runtime", recent->real("mean"))
            .set("min_runtime", recent->real("least"))
            .set("max_runtime", recent->real("most"))
            .set("users", recent->integer("users"));
        list.push_back(std::move(data));
    }
    return list;
}

std::string scalar(const json::Value& data) {
    if (const auto* const number = std::get_if<std::int64_t>(&data.value())) {
        return fmt::format("{}", *number);
    }
    if (const auto* const number = std::get_if<double>(&data.value())) {
        return fmt::format("{:.6f}", *number);
    }
    if (const auto* const text = std::get_if<std::string>(&data.value())) {
        return escape_markup(*text);
    }
    return {};
}

/// The fields of an object as elements, except those named in `skipped`.
std::string elements(const json::Value& object, const std::string& indent,
                     std::initializer_list<std::string_view> skipped = {}) {
    std::string text;
    for (const auto& [name, value] : std::get<json::Value::Fields>(object.value())) {
        if (std::ranges::find(skipped, name) == skipped.end())
            text += fmt::format("{0}<{1}>{2}</{1}>\n", indent, name, scalar(value));
    }
    return text;
}

}  // namespace

std::int64_t database_bytes(Database& database) {
    return database
        .query_one(
            "select cast(coalesce(sum(data_length + index_length), 0) as signed) as bytes from "
            "information_schema.tables where table_schema = database()")
        ->integer("bytes");
}

json::Value status_data(Database& database, const ProjectConfig& config, double now) {
    json::Value data;
    data.set("update_time", static_cast<std::int64_t>(now))
        .set("daemons", daemons(config.directory / "pids"))
        .set("jobs", job_counts(database, now))
        .set("users", user_counts(database, now))
        .set("computers", host_counts(database, now))
        .set("apps", apps(database, now))
        .set("versions", versions(database, config));
    return data;
}

std::string status_xml(const json::Value& status, const std::string& host) {
    std::string daemons;
    for (const json::Value& daemon : std::get<json::Value::List>(status.field("daemons").value())) {
        daemons += fmt::format(
            "        <daemon>\n            <host>{}</host>\n            <command>{}</command>\n"
            "            <status>{}</status>\n        </daemon>\n",
            escape_markup(host), scalar(daemon.field("name")),
            std::get<bool>(daemon.field("is_running").value()) ? "running" : "not running");
    }
    std::string apps;
    for (const json::Value& app : std::get<json::Value::List>(status.field("apps").value())) {
        // BOINC's servers call an app by its short name here.
        apps += fmt::format(
            "            <app>\n                <name>{}</name>\n{}            </app>\n",
            scalar(app.field("short_name")),
            elements(app, "                ", {"short_name", "name"}));
    }
    const std::string indent(8, ' ');
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\" ?>\n<server_status>\n"
        "    <update_time>{}</update_time>\n    <daemon_status>\n{}    </daemon_status>\n"
        "    <database_file_states>\n{}{}{}        <tasks_by_app>\n{}        </tasks_by_app>\n"
        "    </database_file_states>\n</server_status>\n",
        scalar(status.field("update_time")), daemons, elements(status.field("jobs"), indent),
        elements(status.field("users"), indent), elements(status.field("computers"), indent), apps);
}

}  // namespace dedloc::server
