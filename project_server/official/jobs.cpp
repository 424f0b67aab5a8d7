// The rows name the files, so erase() deletes files before rows: the files of runs, then for each
// app its staged and published files, and last the app's rows in one transaction. After a crash the
// rows that are still there lead the next call to the files that are left. A published file stays
// if a version of another app names it. withdraw() takes one app per transaction and leaves every
// job that a volunteer has; the feeder is told last.
#include "project_server/official/jobs.hpp"

// Must be the first of BOINC's headers: it configures the others.
#include <config.h>

#include <boinc_db_types.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched_util.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/formats/receipt.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/platform/files.hpp"
#include "project_server/database/boinc_apps.hpp"
#include "project_server/database/states.hpp"
#include "project_server/official/uploads.hpp"
#include "project_server/publishing/app_version.hpp"
#include "project_server/work/staging.hpp"
#include "project_server/xml/job_documents.hpp"

namespace dedloc::official {
namespace {

namespace fs = std::filesystem;

void remove_file(const fs::path& file) {
    std::error_code failed;
    fs::remove(file, failed);
    if (failed) {
        throw IoError(fmt::format("cannot delete {}: {}", file.string(), failed.message()));
    }
}

/// Deletes a file in the tree of download/ or upload/, what BOINC keeps beside it, and its folder
/// if that is empty then.
void remove_staged(const fs::path& tree, int fanout, const std::string& name) {
    std::array<char, 4096> path{};
    if (dir_hier_path(name.c_str(), tree.c_str(), fanout, path.data(), false) != 0) return;
    const fs::path file{path.data()};
    for (const char* const end : {"", ".md5", ".tmp", ".unfinished"}) {
        remove_file(file.string() + end);
    }
    std::error_code is_used;
    if (file.parent_path() != tree) fs::remove(file.parent_path(), is_used);
}

/// The numbers of those of our apps that the project has.
std::vector<std::int64_t> apps_of(Project& project) {
    std::vector<std::int64_t> apps;
    for (const auto& row : project.database().query(
             fmt::format("select id from app where name in {}", server::kAppsInSql))) {
        apps.push_back(row.integer("id"));
    }
    return apps;
}

void remove_staged_files(Project& project, std::int64_t app) {
    const auto& config = project.config();
    std::set<std::string> inputs;
    for (const auto& row :
         project.database().query("select xml_doc from workunit where appid = ?", {app})) {
        inputs.merge(server::described_names(row.text("xml_doc")));
    }
    for (const auto& name : inputs) {
        remove_staged(config.download_directory, config.directory_fanout, name);
    }
    for (const auto& row :
         project.database().query("select xml_doc_in from result where appid = ?", {app})) {
        for (const auto& name : server::described_names(row.text("xml_doc_in"))) {
            remove_staged(config.upload_directory, config.directory_fanout, name);
        }
    }
}

/// db_purge deletes the rows of jobs, but the input files of a run are not file_deleter's.
void remove_run_files(Project& project) {
    const auto& config = project.config();
    const auto tables = project.tables();
    if (std::ranges::find(tables, "dedloc_run") == tables.end()) return;
    for (const auto& row : project.database().query("select name, spec from dedloc_run")) {
        try {
            const auto run = formats::parse_run_file(row.text("spec"));
            for (const auto& name : work::staged_names(config, row.text("name"), run)) {
                remove_staged(config.download_directory, config.directory_fanout, name);
            }
        } catch (const InputError&) {
            continue;  // a run of which nothing can have been staged
        }
    }
    delete_uploads(config, project.database(), {.takes_all = true});
}

void remove_messages(Project& project) {
    for (const char* const table : {"msg_from_host", "msg_to_host"}) {
        project.database().execute(fmt::format("delete from {} where variety = ?", table),
                                   {formats::kCreditMessage});
    }
}

/// Results of our apps that file_deleter has not dealt with, and whose files it would delete.
constexpr const char* kDescribed =
    "from result where appid = ? and file_delete_state <> ? and xml_doc_in like '%<file_info>%' "
    "and xml_doc_in not like '%<no_delete/>%'";

void remove_published_files(Project& project, std::int64_t app) {
    for (const auto& row :
         project.database().query("select xml_doc from app_version where appid = ?", {app})) {
        for (const auto& name : server::described_names(row.text("xml_doc"))) {
            const auto other = project.database().query_one(
                "select id from app_version where appid <> ? and instr(xml_doc, ?) > 0 limit 1",
                {app, fmt::format("<name>{}</name>", name)});
            if (other) continue;
            remove_file(project.config().download_directory / name);
            remove_file(project.config().download_directory / (name + ".gz"));
        }
    }
    for (const auto& row : project.database().query(
             "select a.name as app, v.version_num, p.name as platform, v.plan_class from "
             "app_version v join app a on a.id = v.appid join platform p on p.id = v.platformid "
             "where v.appid = ?",
             {app})) {
        remove_file(project.config().download_directory / server::bill_name(row));
    }
}

}  // namespace

bool has_app(Project& project) {
    return !apps_of(project).empty();
}

std::string names_of_apps(Project& project) {
    std::vector<std::string> names;
    for (const auto& row : project.database().query(fmt::format(
             "select name from app where name in {} order by name desc", server::kAppsInSql))) {
        names.push_back(row.text("name"));
    }
    return fmt::format("app{} {}", names.size() == 1 ? "" : "s", fmt::join(names, " and "));
}

std::int64_t jobs_in_progress(Project& project) {
    return project.database()
        .query_one(fmt::format("select count(*) as jobs from result r join app a on a.id = r.appid "
                               "where a.name in {} and r.server_state = ?",
                               server::kAppsInSql),
                   {server::ServerState::kInProgress})
        ->integer("jobs");
}

std::int64_t described_results(Project& project) {
    std::int64_t count = 0;
    for (const std::int64_t app : apps_of(project)) {
        count += project.database()
                     .query_one(fmt::format("select count(*) as results {}", kDescribed),
                                {app, server::FileDeleteState::kDone})
                     ->integer("results");
    }
    return count;
}

void describe_results(Project& project) {
    for (const std::int64_t app : apps_of(project)) {
        for (const auto& row :
             project.database().query(fmt::format("select id, xml_doc_in {}", kDescribed),
                                      {app, server::FileDeleteState::kDone})) {
            std::string text = row.text("xml_doc_in");
            constexpr std::string_view kInfo = "<file_info>";
            for (auto at = text.find(kInfo); at != std::string::npos; at = text.find(kInfo, at)) {
                at += kInfo.size();
                text.insert(at, "<no_delete/>");
            }
            project.database().execute(
                "update result set xml_doc_in = ?, mod_time = mod_time where id = ?",
                {text, row.integer("id")});
        }
    }
}

void offer(Project& project) {
    project.database().execute(
        fmt::format("update app set deprecated = 0 where name in {}", server::kAppsInSql));
    reload_feeder(project.root());
}

void withdraw(Project& project) {
    auto& database = project.database();
    for (const std::int64_t app : apps_of(project)) {
        server::in_transaction(database, [&] {
            database.execute("update app set deprecated = 1 where id = ?", {app});
            database.execute(
                "update workunit w set error_mask = error_mask | ?, transition_time = ? where "
                "w.appid = ? and w.error_mask = 0 and w.canonical_resultid = 0 and "
                "w.assimilate_state = ? and not exists (select 1 from result r where "
                "r.workunitid = w.id and r.server_state <> ?)",
                {WU_ERROR_CANCELLED, std::time(nullptr), app, server::AssimilateState::kInit,
                 server::ServerState::kUnsent});
            database.execute(
                "update result set server_state = ?, outcome = ? where appid = ? and "
                "server_state = ?",
                {server::ServerState::kOver, server::ResultOutcome::kNotNeeded, app,
                 server::ServerState::kUnsent});
        });
    }
    reload_feeder(project.root());
}

void erase(Project& project) {
    auto& database = project.database();
    remove_run_files(project);
    remove_messages(project);
    for (const std::int64_t app : apps_of(project)) {
        // The rows name the files, so they go last.
        remove_staged_files(project, app);
        remove_published_files(project, app);
        server::in_transaction(database, [&] {
            database.execute(
                "delete from host_app_version where app_version_id in "
                "(select id from app_version where appid = ?)",
                {app});
            for (const char* const table : {"result", "workunit", "app_version"}) {
                database.execute(fmt::format("delete from {} where appid = ?", table), {app});
            }
            database.execute("delete from app where id = ?", {app});
        });
    }
    reload_feeder(project.root());
}

void reload_feeder(const fs::path& project) {
    platform::replace_file(project / "reread_db", std::string_view{});
}

}  // namespace dedloc::official
