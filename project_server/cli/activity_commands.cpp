// dedloc run activity: what happens in a run. dedloc notice: notices that volunteers' clients show,
// to computers that are named or that work with an old version.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "peer/base/error.hpp"
#include "project_server/accounts/lookup.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/output.hpp"
#include "project_server/database/notices.hpp"
#include "project_server/project/project.hpp"
#include "project_server/views/activity.hpp"
#include "project_server/views/hosts.hpp"
#include "project_server/views/notice_list.hpp"
#include "project_server/views/old_versions.hpp"

namespace dedloc::cli {
namespace {

/// Options of these commands.
struct ActivityOptions {
    std::filesystem::path project;
    std::string run;
    int hours = 24;
    int count = 100;
    std::string text;
    std::vector<std::string> hosts;
    std::vector<std::string> users;
    bool is_for_old_versions = false;
    bool prints_json = false;
};

/// The data without lists of numbers and whole keys, which people read as a curve and a short key.
/// The loss of no source is that of all samples.
json::Value for_people(const json::Value& data) {
    json::Value shown;
    for (const auto& [name, field] : std::get<json::Value::Fields>(data.value())) {
        const bool is_hourly = name == "timeline";
        if (is_hourly || name == "key" || name.ends_with("_id")) continue;
        const auto* const list = std::get_if<json::Value::List>(&field.value());
        if (list == nullptr) {
            const auto* const text = std::get_if<std::string>(&field.value());
            const bool is_of_all = name == "source" && text != nullptr && text->empty();
            shown.set(name, is_of_all ? json::Value{"all samples"} : field);
            continue;
        }
        json::Value::List rows;
        for (const json::Value& item : *list) rows.push_back(for_people(item));
        shown.set(name, std::move(rows));
    }
    return shown;
}

void show_activity(const ActivityOptions& chosen) {
    project::ProjectDatabase access{project::existing_project(chosen.project)};
    auto& database = access.database();
    const json::Value data = [&] {
        const server::Transaction view{database};  // the run goes on meanwhile
        return server::run_activity(
            database, {.run = chosen.run, .hours = chosen.hours, .now = server::unix_now()});
    }();
    print(chosen.prints_json ? data : for_people(data), chosen.prints_json);
}

std::vector<std::int64_t> hosts_for(server::Database& database, const ActivityOptions& chosen) {
    std::vector<std::int64_t> hosts;
    for (const std::string& name : chosen.hosts) {
        hosts.push_back(server::find_host(database, name));
    }
    for (const std::string& name : chosen.users) {
        const server::ListChoice choice{.user = server::find_user(database, name),
                                        .for_administrator = true};
        for (const auto& host : server::read_hosts(database, choice)) hosts.push_back(host.id);
    }
    if (chosen.is_for_old_versions) {
        for (const auto& old : server::read_old_versions(database)) hosts.push_back(old.host);
    }
    return hosts;
}

void send(const ActivityOptions& chosen) {
    if (chosen.hosts.empty() && chosen.users.empty() && !chosen.is_for_old_versions) {
        throw InputError("a notice needs --host, --user or --old-versions");
    }
    project::ProjectDatabase access{project::existing_project(chosen.project)};
    if (!access.config().send_messages_to_hosts) {
        throw InputError(
            "this project's scheduler sends no messages to computers: add "
            "<msg_to_host>1</msg_to_host> to the <config> of its config.xml");
    }
    auto& database = access.database();
    const int computers =
        server::send_notice(database, hosts_for(database, chosen), chosen.text, server::unix_now());
    if (chosen.prints_json) {
        json::Value data;
        return print(data.set("computers", computers), true);
    }
    fmt::print("{} {} the notice when they next ask the project\n", computers,
               computers == 1 ? "computer gets" : "computers get");
}

void list(const ActivityOptions& chosen) {
    project::ProjectDatabase access{project::existing_project(chosen.project)};
    print(server::notice_list(access.database(), chosen.count), chosen.prints_json);
}

}  // namespace

void add_activity_commands(CLI::App& dedloc, CLI::App& run) {
    const auto chosen = std::make_shared<ActivityOptions>();  // shared by parser and callbacks
    const auto command = [&](CLI::App& group, const char* name, const char* what,
                             void (*work)(const ActivityOptions&)) {
        auto* const added = group.add_subcommand(name, what);
        added->add_option("--project", chosen->project, "The project's folder")->required();
        added->add_flag("--json", chosen->prints_json, "Print JSON");
        added->callback([chosen, work] { work(*chosen); });
        return added;
    };
    auto* const activity =
        command(run, "activity",
                "Print throughput, failures, devices and versions by user and peer, and who uses "
                "an old version",
                show_activity);
    activity->add_option("--name", chosen->run, "The run's name")->required();
    activity->add_option("--hours", chosen->hours, "The last so many hours")
        ->check(CLI::Range(1, server::kMaxActivityHours))
        ->capture_default_str();

    auto* const notice =
        dedloc.add_subcommand("notice", "Notices that BOINC shows to chosen volunteers");
    notice->require_subcommand(1);
    auto* const sending = command(*notice, "send", "Send one", send);
    sending->add_option("--text", chosen->text, "One line")->required();
    sending->add_option("--host", chosen->hosts, "To computers, by id or name");
    sending->add_option("--user", chosen->users,
                        "To all computers of accounts, by id, e-mail address or name");
    sending->add_flag("--old-versions", chosen->is_for_old_versions,
                      "To computers with a job in progress by a version that is not the newest");
    auto* const listing =
        command(*notice, "list", "List the newest, and which were delivered", list);
    listing->add_option("--count", chosen->count, "At most so many")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
}

}  // namespace dedloc::cli
