#include "project_server/cli/project_check.hpp"

#include <fmt/format.h>

#include <memory>

#include "peer/base/error.hpp"
#include "project_server/check/check.hpp"
#include "project_server/official/daemons.hpp"
#include "project_server/project/daemon_files.hpp"
#include "project_server/project/lock.hpp"
#include "project_server/project/project.hpp"

namespace dedloc::cli {

using check::Level;

check::Findings check_project(const std::filesystem::path& folder, bool is_quick,
                              const std::function<void(const std::string&)>& begins) {
    const auto project = project::existing_project(folder);
    check::Subject subject{
        .project = project,
        .settings = server::read_settings(project),
        .config = server::load_project_config(project),
        .is_quick = is_quick,
        .is_running = project::supervisor_of(server::state_folder(project)).has_value(),
        .now = server::unix_now()};
    if (server::is_official(project)) {
        for (const auto& daemon : official::own_daemons(project)) {
            const bool runs = daemon.process != 0;
            subject.daemons.push_back({.name = daemon.name, .runs = runs});
            subject.is_running = subject.is_running || runs;
        }
    }
    if (project::supervisor_of(server::state_folder(project))) {
        for (const auto& daemon : project::daemon_states(subject.state() / "pids")) {
            subject.daemons.push_back(
                {.name = daemon.name, .runs = daemon.process != 0, .log_begin = daemon.log_begin});
        }
    }
    std::unique_ptr<project::ProjectDatabase> access;
    try {
        access = std::make_unique<project::ProjectDatabase>(project);
    } catch (const Error& error) {
        subject.database_failure = error.what();
    }
    return check::check_project(subject, begins);
}

json::Value check_data(const check::Findings& findings) {
    json::Value::List checks;
    for (const check::Finding& finding : findings.all()) {
        json::Value line;
        line.set("check", finding.check)
            .set("level", check::name_of(finding.level))
            .set("sentence", finding.sentence)
            .set("advice", finding.advice);
        checks.push_back(std::move(line));
    }
    json::Value data;
    data.set("bad", findings.count(Level::kBad))
        .set("warnings", findings.count(Level::kWarning))
        .set("unknown", findings.count(Level::kUnknown))
        .set("checks", std::move(checks));
    return data;
}

std::string check_text(const check::Findings& findings) {
    std::string text;
    for (const check::Finding& finding : findings.all()) {
        text += fmt::format("{:<8} {:<12} {}\n", check::name_of(finding.level), finding.check,
                            finding.sentence);
        if (!finding.advice.empty()) text += fmt::format("{:<21} {}\n", "", finding.advice);
    }
    return text + fmt::format("{} bad, {} warnings, {} not checked\n", findings.count(Level::kBad),
                              findings.count(Level::kWarning), findings.count(Level::kUnknown));
}

}  // namespace dedloc::cli
