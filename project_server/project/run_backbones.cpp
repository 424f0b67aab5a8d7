#include "project_server/project/run_backbones.hpp"

#include <fmt/format.h>

#include <memory>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/stop_signals.hpp"
#include "project_server/handover.hpp"
#include "project_server/project/lock.hpp"
#include "project_server/project/log_rotation.hpp"
#include "project_server/project/project.hpp"
#include "project_server/settings.hpp"

namespace dedloc::project {
namespace {

using namespace std::chrono_literals;

constexpr auto kBackboneTick = 200ms;
constexpr auto kLookAtBackbones = 2s;
constexpr auto kLookAtBackboneLogs = 30s;

void rotate_logs(const std::filesystem::path& folder) {
    std::error_code unreadable;
    for (const auto& entry : std::filesystem::directory_iterator(folder, unreadable)) {
        if (entry.path().extension() != ".log") continue;
        try {
            rotate_in_place(entry.path(), {});
        } catch (const Error& error) {
            log_warning("{}", error.what());
        }
    }
}

}  // namespace

platform::Command program_of(const std::string& name, const std::filesystem::path& project) {
    const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return {(folder / name).string(), "--project", project.string()};
}

void start_backbones(Supervisor& supervisor, server::Database& database,
                     const std::filesystem::path& project) {
    try {
        database.ensure_connected();
        for (const auto& row : database.query("select name, state from dedloc_run")) {
            const auto& run = row.text("name");
            const auto daemon = "dedloc-backbone-" + run;
            // The backbone of a paused run tells its members so; that of a finished run stays and
            // tells peers that come later.
            if (row.text("state") == "finished" || supervisor.knows(daemon)) continue;
            auto command = program_of("dedloc-backbone", project);
            command.insert(command.end(), {"--run", run});
            supervisor.start({.name = daemon, .command = std::move(command)});
            log_info("{} started", daemon);
        }
    } catch (const Error& error) {
        log_warning("cannot read the runs from the database: {}", error.what());
    }
}

void serve_backbones(const std::filesystem::path& folder) {
    const platform::StopSignals signals;
    const auto project = existing_project(folder);
    if (!server::is_official(project)) {
        throw InputError(fmt::format(
            "{} is not the project of an official BOINC server: dedloc project start runs its "
            "backbones",
            project.string()));
    }
    const auto state = server::state_folder(project);
    for (const char* const name : {"log", "pids"}) {
        std::filesystem::create_directories(state / name);
    }
    server::Handover turn{project, "dedloc-runs", signals};
    if (!turn.has_begun()) return;
    const ProjectLock lock{state};
    const auto config = server::load_project_config(project);
    Supervisor supervisor{{.logs = state / "log", .pids = state / "pids"}};
    std::unique_ptr<server::Database> database;
    auto next_look = Supervisor::Clock::now();
    auto next_rotation = Supervisor::Clock::now();
    log_info("Running the backbones of {}", project.string());
    while (!signals.wait(kBackboneTick)) {
        const auto now = Supervisor::Clock::now();
        supervisor.advance(now);
        if (now >= next_rotation) {
            next_rotation = now + kLookAtBackboneLogs;
            rotate_logs(state / "log");
        }
        if (now < next_look) continue;
        next_look = now + kLookAtBackbones;
        try {
            if (!database) database = std::make_unique<server::Database>(config.database);
        } catch (const server::DatabaseError& error) {
            log_warning("{}", error.what());
            continue;
        }
        start_backbones(supervisor, *database, project);
    }
    turn.give_way();
    log_info("Stopping");
    supervisor.stop_all();
}

}  // namespace dedloc::project
