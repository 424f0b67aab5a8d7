#include "project_server/official/jobs.hpp"

// Must be the first of BOINC's headers: it configures the others.
#include <config.h>

#include <boinc_db_types.h>
#include <fmt/format.h>
#include <sched_util.h>

#include <array>
#include <ctime>
#include <set>
#include <string>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "project_server/database/boinc_apps.hpp"
#include "project_server/publishing/app_version.hpp"
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
                {WU_ERROR_CANCELLED, std::time(nullptr), app, ASSIMILATE_INIT,
                 RESULT_SERVER_STATE_UNSENT});
            database.execute(
                "update result set server_state = ?, outcome = ? where appid = ? and "
                "server_state = ?",
                {RESULT_SERVER_STATE_OVER, RESULT_OUTCOME_DIDNT_NEED, app,
                 RESULT_SERVER_STATE_UNSENT});
        });
    }
    reload_feeder(project.root());
}

void erase(Project& project) {
    auto& database = project.database();
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
