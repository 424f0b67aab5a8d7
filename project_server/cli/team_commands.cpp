// dedloc team: lists teams, and renames or closes one that has a name it should not have.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "peer/base/error.hpp"
#include "project_server/accounts/lookup.hpp"
#include "project_server/accounts/teams.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/output.hpp"
#include "project_server/project/project.hpp"
#include "project_server/views/teams.hpp"

namespace dedloc::cli {
namespace {

struct TeamChoice {
    std::filesystem::path project;
    std::string team;
    std::string name;
    server::ListChoice list{};
    bool prints_json = false;
};

void list(const TeamChoice& chosen) {
    project::ProjectDatabase access{project::existing_project(chosen.project)};
    print(server::team_list(access.database(), chosen.list), chosen.prints_json);
}

void rename(const TeamChoice& chosen) {
    project::ProjectDatabase access{project::existing_project(chosen.project)};
    const auto team = server::find_team(access.database(), chosen.team);
    const auto refusal = server::rename_team(access.database(), team, chosen.name);
    if (refusal) throw InputError(*refusal);
    if (chosen.prints_json) {
        json::Value data;
        return print(data.set("id", team).set("name", chosen.name), true);
    }
    fmt::print("team {} is renamed\n", team);
}

void close(const TeamChoice& chosen) {
    project::ProjectDatabase access{project::existing_project(chosen.project)};
    const auto team = server::find_team(access.database(), chosen.team);
    server::close_team(access.database(), team);
    if (chosen.prints_json) {
        json::Value data;
        return print(data.set("id", team), true);
    }
    fmt::print("team {} is closed; its members keep their credit\n", team);
}

}  // namespace

void add_team_commands(CLI::App& dedloc) {
    constexpr const char* kName = "The team's id or name";
    auto* const team = dedloc.add_subcommand("team", "Show volunteers' teams, rename or close one");
    team->require_subcommand(1);
    const auto chosen = std::make_shared<TeamChoice>();  // shared by parser and callbacks
    const auto add = [&](const char* name, const char* what, void (*work)(const TeamChoice&)) {
        auto* const command = team->add_subcommand(name, what);
        command->add_option("--project", chosen->project, "The project's folder")->required();
        command->add_flag("--json", chosen->prints_json, "Print JSON");
        command->callback([chosen, work] { work(*chosen); });
        return command;
    };
    auto* const listing = add("list", "List teams by recent credit", list);
    listing->add_option("--find", chosen->list.found, "Only those whose name has this text");
    listing->add_option("--count", chosen->list.limit, "At most so many")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    auto* const renaming = add("rename", "Give a team another name", rename);
    renaming->add_option("team", chosen->team, kName)->required();
    renaming->add_option("name", chosen->name, "The new name")->required();
    add("close", "Delete a team with its credit", close)
        ->add_option("team", chosen->team, kName)
        ->required();
}

}  // namespace dedloc::cli
