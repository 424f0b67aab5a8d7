// Each part of the status is read from its own source, so that one that is away leaves the others:
// without a database the counts of jobs stay empty, and a run with unreadable files gets that as
// its state. Sizes are blocks on the disk, not lengths of files. The database's size is that of its
// folder if it is in the project, else what the server's tables say. Warnings differ: a project of
// ours is warned about its backup, an official server's about its daemons and address.
#include "project_server/cli/project_status.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "peer/base/error.hpp"
#include "project_server/backbone/run_files.hpp"
#include "project_server/check/public_address.hpp"
#include "project_server/database/boinc_apps.hpp"
#include "project_server/database/database.hpp"
#include "project_server/database/job_states.hpp"
#include "project_server/official/daemons.hpp"
#include "project_server/project/daemon_files.hpp"
#include "project_server/project/last_backup.hpp"
#include "project_server/project/lock.hpp"
#include "project_server/project/project.hpp"
#include "project_server/runs/control.hpp"
#include "project_server/views/server_status.hpp"

namespace dedloc::cli {
namespace {

namespace fs = std::filesystem;

/// What the files in a folder take on the disk.
std::int64_t bytes_in(const fs::path& folder) {
    std::int64_t bytes = 0;
    std::error_code failed;
    for (fs::recursive_directory_iterator entry{folder, failed}, end; !failed && entry != end;
         entry.increment(failed)) {
        constexpr std::int64_t kBlock = 512;
        struct stat facts {};
        if (lstat(entry->path().c_str(), &facts) == 0) bytes += facts.st_blocks * kBlock;
    }
    return bytes;
}

/// What the database takes: its folder in a project of ours, else what the server says of it.
std::int64_t database_bytes(const fs::path& project, server::Database* database) {
    if (fs::exists(project / "db")) return bytes_in(project / "db");
    return database == nullptr ? 0 : server::database_bytes(*database);
}

json::Value disk_of(const fs::path& project, const server::ProjectConfig& config,
                    server::Database* database) {
    struct statvfs system {};
    const bool is_known = statvfs(project.c_str(), &system) == 0;
    const auto state = server::state_folder(project);
    json::Value disk;
    disk.set("free_bytes", is_known ? system.f_bavail * system.f_frsize : 0)
        .set("database_bytes", database_bytes(project, database))
        .set("runs_bytes", bytes_in(state / "runs"))
        .set("downloads_bytes", bytes_in(config.download_directory))
        .set("uploads_bytes", bytes_in(config.upload_directory))
        .set("logs_bytes", bytes_in(state / "log"));
    return disk;
}

/// A connection, if the project's database answers.
std::unique_ptr<server::Database> connect(const server::ProjectConfig& config) {
    try {
        return std::make_unique<server::Database>(config.database);
    } catch (const server::DatabaseError&) {
        return nullptr;
    }
}

json::Value jobs_in(server::Database* database) {
    json::Value jobs;
    if (database == nullptr) return jobs;
    using enum server::JobState;
    const auto counts = server::count_jobs(
        *database,
        fmt::format("appid in (select id from app where name in {})", server::kAppsInSql));
    for (const auto state : {kUnsent, kInProgress, kWaiting, kSucceeded}) {
        jobs.set(name_of(state), counts.of(state));
    }
    jobs.set("failed", counts.failed());
    return jobs;
}

json::Value::List daemons_in(const fs::path& project, const fs::path& folder) {
    json::Value::List daemons;
    const auto add = [&](const std::string& name, pid_t process, double since, int restarts) {
        json::Value daemon;
        daemon.set("name", name)
            .set("process", process)
            .set("since_at", since)
            .set("restarts", restarts);
        daemons.push_back(std::move(daemon));
    };
    if (server::is_official(project)) {
        for (const auto& daemon : official::own_daemons(project)) {
            add(daemon.name, daemon.process, daemon.since, 0);
        }
    }
    if (!project::supervisor_of(server::state_folder(project))) return daemons;
    for (const project::DaemonState& state : project::daemon_states(folder)) {
        add(state.name, state.process, state.since, state.restarts);
    }
    return daemons;
}

json::Value run_in(const fs::path& folder) {
    json::Value run;
    run.set("name", folder.filename().string());
    try {
        const server::RunStatus status = runs::present_status(backbone::read_run_files(folder));
        run.set("state", status.state)
            .set("step", status.lines.empty() ? 0 : status.lines.back().step)
            .set("steps", status.steps)
            .set("live", status.is_live)
            .set("peers", status.peers)
            .set("samples_per_second", status.samples_per_second);
    } catch (const Error& error) {
        run.set("state", fmt::format("unreadable: {}", error.what()))
            .set("step", 0)
            .set("steps", 0)
            .set("live", false)
            .set("peers", 0)
            .set("samples_per_second", 0.0);
    }
    return run;
}

json::Value::List runs_in(const fs::path& folder) {
    std::vector<fs::path> folders;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator{folder, failed}) {
        if (fs::exists(entry.path() / "run.json")) folders.push_back(entry.path());
    }
    std::ranges::sort(folders);
    json::Value::List runs;
    for (const auto& each : folders) {
        if (!each.filename().string().starts_with('.')) runs.push_back(run_in(each));
    }
    return runs;
}

double started_at(const fs::path& lock) {
    struct stat facts {};
    return stat(lock.c_str(), &facts) == 0 ? static_cast<double>(facts.st_mtime) : 0;
}

/// {created_at, archive_bytes, file}; created_at 0: never.
json::Value backup_data(const std::optional<project::LastBackup>& last) {
    const project::LastBackup known = last.value_or(project::LastBackup{});
    json::Value data;
    data.set("created_at", known.created_at)
        .set("archive_bytes", known.bytes)
        .set("file", known.file);
    return data;
}

/// What needs the attention of an official server's administrator.
json::Value::List official_warnings(const fs::path& project, const server::Settings& settings) {
    json::Value::List warnings;
    std::string away;
    bool runs = false;
    for (const auto& daemon : official::own_daemons(project)) {
        runs = runs || daemon.process != 0;
        if (daemon.process == 0) away += (away.empty() ? "" : ", ") + daemon.name;
    }
    if (!runs) return warnings;
    if (!away.empty())
        warnings.emplace_back(fmt::format("not running: {}; see bin/status -v", away));
    const auto found = check::ask_public_address(project, settings);
    if (found.answer == check::PublicAnswer::kOther) {
        warnings.emplace_back(fmt::format("{}; {}", found.sentence, found.advice));
    }
    return warnings;
}

}  // namespace

json::Value project_status(const fs::path& folder) {
    const auto project = project::existing_project(folder);
    const auto state = server::state_folder(project);
    const auto settings = server::read_settings(project);
    const auto config = server::load_project_config(project);
    const bool is_running = project::supervisor_of(state).has_value();
    const auto database = connect(config);
    json::Value::List warnings;
    const auto backup = project::last_backup(state);
    if (server::is_official(project)) {
        warnings = official_warnings(project, settings);
    } else if (const auto warning =
                   project::backup_warning(backup, static_cast<std::int64_t>(server::unix_now()));
               !warning.empty()) {
        warnings.emplace_back(warning);
    }
    json::Value data;
    data.set("name", settings.name)
        .set("url", settings.url)
        .set("is_running", is_running)
        .set("since_at", is_running ? started_at(state / "pids/supervisor.pid") : 0.0)
        .set("is_database_up", database != nullptr)
        .set("disk", disk_of(project, config, database.get()))
        .set("jobs", jobs_in(database.get()))
        .set("warnings", std::move(warnings))
        .set("daemons", daemons_in(project, state / "pids"))
        .set("runs", runs_in(state / "runs"));
    // An official server's project is backed up by other means.
    if (!server::is_official(project)) data.set("last_backup", backup_data(backup));
    return data;
}

}  // namespace dedloc::cli
