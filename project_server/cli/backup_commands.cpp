// A Watch is the callback of the library's progress: it shows the progress and throws when a stop
// signal has arrived, so the work ends at its next report and makes nothing. It ends before the
// result is printed, which keeps the two apart on a terminal. A backup is noted for project status
// after it is complete; a failure of that note is a warning, because the backup is good all the
// same.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "peer/base/error.hpp"
#include "peer/base/utc_text.hpp"
#include "peer/platform/stop_signals.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/database_options.hpp"
#include "project_server/cli/output.hpp"
#include "project_server/cli/progress.hpp"
#include "project_server/project/backup.hpp"
#include "project_server/project/last_backup.hpp"
#include "project_server/project/project.hpp"
#include "project_server/project/restore.hpp"

namespace dedloc::cli {
namespace {

double megabytes(std::uint64_t bytes) {
    return static_cast<double>(bytes) / 1e6;
}

/// Shows how far the work is, and interrupts it when a stop signal has arrived.
class Watch {
  public:
    Watch(const char* what, bool as_json) : what_(what), progress_(as_json) {
        progress_.say(what_);
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    void operator()(const project::BackupProgress& progress) {
        if (signals_.arrived()) throw IoError("interrupted; nothing was made");
        progress_.advance(what_, progress.done, progress.total);
    }

  private:
    const std::string what_;
    const platform::StopSignals signals_;
    Progress progress_;
};

void print_backup(const project::BackupOptions& options, bool as_json) {
    project::Backup backup;
    {
        Watch watch{"backing up", as_json};
        backup = project::back_up(
            options, [&](const project::BackupProgress& progress) { watch(progress); });
    }
    // The backup is complete: what fails now is no failure of it.
    try {
        project::note_backup(project::own_project(options.project), backup);
    } catch (const Error& error) {
        fmt::print(stderr, "dedloc: project status will not know of this backup: {}\n",
                   error.what());
    }
    if (as_json) {
        json::Value data;
        data.set("file", backup.file.string())
            .set("bytes", backup.bytes)
            .set("files", backup.files)
            .set("contents_bytes", backup.contents)
            .set("created_at", backup.created_at);
        return print(data, true);
    }
    fmt::print("{}: {} files, {:.1f} MB of contents in {:.1f} MB; it contains secrets\n",
               backup.file.string(), backup.files, megabytes(backup.contents),
               megabytes(backup.bytes));
}

void print_json(const project::Restored& restored) {
    json::Value::List runs;
    for (const auto& run : restored.runs) {
        json::Value fields;
        fields.set("name", run.name)
            .set("step", run.step)
            .set("generation", run.generation)
            .set("voters", run.voters);
        runs.push_back(std::move(fields));
    }
    json::Value::List notes;
    for (const auto& note : restored.notes) notes.emplace_back(note);
    json::Value data;
    data.set("folder", restored.folder.string())
        .set("name", restored.name)
        .set("url", restored.url)
        .set("created_at", restored.created_at)
        .set("runs", std::move(runs))
        .set("notes", std::move(notes));
    print(data, true);
}

void print_restored(project::RestoreOptions options, const project::DatabaseOptions& database,
                    bool as_json) {
    if (!database.url.empty()) options.database = project::external_database(database);
    project::Restored restored;
    {
        Watch watch{"restoring", as_json};
        restored = project::restore(
            options, [&](const project::BackupProgress& progress) { watch(progress); });
    }
    if (as_json) return print_json(restored);
    fmt::print("{}: project \"{}\" at {}, as it was at {} UTC\n", restored.folder.string(),
               restored.name, restored.url, utc_text(restored.created_at));
    for (const auto& run : restored.runs) {
        const std::string votes =
            run.generation == 0
                ? "it is finished"
                : fmt::format("votes begin anew in generation {}{}", run.generation,
                              run.voters <= 1 ? ""
                                              : ", once it has caught up with the voters on "
                                                "other machines");
        fmt::print("run {}: step {}; {}\n", run.name, run.step, votes);
    }
    for (const auto& note : restored.notes) fmt::print("{}\n", note);
    fmt::print("never start the old project again beside this one\n");
}

}  // namespace

void add_backup_commands(CLI::App& project) {
    const auto as_json = std::make_shared<bool>(false);
    const auto from = std::make_shared<project::BackupOptions>();
    auto* const backing = project.add_subcommand(
        "backup",
        "Write everything that the project needs into one file, while it runs or not. The file "
        "contains secrets: keys, e-mail addresses, password hashes");
    backing->add_option("DIR", from->project, "The project's folder")->required();
    backing
        ->add_option("--to", from->to,
                     "File to write, or a folder for a file with the project's name and the time")
        ->required();
    backing->add_flag("--all-checkpoints", from->has_all_checkpoints,
                      "Default: of each run the newest one that its ledger proves, and newer ones");
    backing->add_flag("--json", *as_json, "Print JSON");
    backing->callback([from, as_json] { print_backup(*from, *as_json); });

    const auto to = std::make_shared<project::RestoreOptions>();
    auto* const restoring = project.add_subcommand(
        "restore", "Make a project again from a backup; the old one must not run any more");
    restoring->add_option("BACKUP", to->backup, "The file")->required();
    restoring->add_option("NEW_DIR", to->folder, "Folder to create")->required();
    restoring->add_option("--user", to->user,
                          "Root: restore the project for this account, which its daemons run as");
    const auto database = add_database_options(*restoring);
    restoring->add_flag("--json", *as_json, "Print JSON");
    restoring->callback([to, database, as_json] { print_restored(*to, *database, *as_json); });
}

}  // namespace dedloc::cli
