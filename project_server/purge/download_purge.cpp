// Whether an input file is needed follows from the rows of runs and jobs alone, so its deletion
// needs no record: a lock of the download folder, which dedloc-work holds while it stages files and
// creates the job that needs them, keeps both apart.
//
// An app version goes in three steps. First a row says since when no job uses it. Then one
// transaction makes that final: the version is withdrawn for good. Only then its files are deleted,
// and last its document is emptied, which names them. A crash in between leaves a final version
// with a document, and the next pass goes on there.
#include "project_server/purge/download_purge.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/folder_lock.hpp"
#include "project_server/database/boinc_apps.hpp"
#include "project_server/database/states.hpp"
#include "project_server/publishing/app_version.hpp"
#include "project_server/work/staging.hpp"
#include "project_server/xml/job_documents.hpp"

namespace dedloc::purge {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kHour = 3'600;  // seconds

/// A finished run without a step, a job or a report since the given time, and without an open job.
constexpr const char* kRuns =
    "select d.name, d.spec, d.state = 'finished' and greatest(d.created, coalesce((select "
    "s.committed_at from dedloc_step s where s.runid = d.id order by s.step desc limit 1), 0)) < ? "
    "and not exists (select 1 from workunit w left join result r on r.workunitid = w.id where "
    "w.appid in (?, ?) and w.opaque = d.id and (w.assimilate_state <> ? or "
    "w.mod_time >= from_unixtime(?) or r.server_state <> ? or "
    "r.mod_time >= from_unixtime(?))) as is_over from dedloc_run d";

/// A version that gets no new jobs, and that no job uses.
constexpr const char* kIsUnused =
    "(published.deprecated <> 0 or exists (select 1 from app_version newer where newer.appid = "
    "published.appid and "
    "newer.platformid = published.platformid and newer.plan_class = published.plan_class and "
    "newer.deprecated = 0 and "
    "newer.version_num > published.version_num)) and not exists (select 1 from result r where "
    "r.appid = published.appid and r.server_state <> ? and r.app_version_id = published.id)";

/// Whether the file is gone now. Counts it if it was there.
bool remove_file(const fs::path& path, int& count) {
    std::error_code failure;
    if (fs::remove(path, failure)) ++count;
    if (failure) log_warning("cannot delete {}: {}", path.string(), failure.message());
    return !failure;
}

/// The lock of a folder; nothing if another process has it.
std::optional<platform::FolderLock> try_lock(const fs::path& folder) {
    try {
        return std::optional<platform::FolderLock>{std::in_place, folder};
    } catch (const IoError&) {
        return std::nullopt;
    }
}

}  // namespace

int DownloadPurge::pass(std::int64_t now, std::int64_t before) {
    if (now - looked_at_ < kHour) return 0;
    int files = delete_inputs(before);
    choose_versions(now, before);
    files += delete_versions();
    looked_at_ = now;
    return files;
}

int DownloadPurge::delete_inputs(std::int64_t before) {
    const auto id_of = [&](const char* app) {
        const auto row = database_.query_one("select id from app where name = ?", {app});
        return row ? row->integer("id") : 0;
    };
    const std::int64_t trainer = id_of(server::kTrainerApp);
    const std::int64_t aggregator = id_of(server::kAggregatorApp);
    const auto lock = try_lock(config_.download_directory);
    if ((trainer == 0 && aggregator == 0) || !lock) return 0;
    std::set<std::string> needed;
    std::set<std::string> over;
    for (const auto& row :
         database_.query(kRuns, {before, trainer, aggregator, server::AssimilateState::kDone,
                                 before, server::ServerState::kOver, before})) {
        try {
            const auto run = formats::parse_run_file(row.text("spec"));
            auto& names = row.integer("is_over") != 0 ? over : needed;
            const auto staged = work::staged_names(config_, row.text("name"), run);
            names.insert(staged.begin(), staged.end());
        } catch (const InputError& error) {
            log_warning("no run's files are deleted, because run {} is unreadable: {}",
                        row.text("name"), error.what());
            return 0;
        }
    }
    int files = 0;
    for (const auto& name : over) {
        if (needed.contains(name)) continue;
        remove_file(work::staged_place(config_, name), files);
    }
    return files;
}

void DownloadPurge::choose_versions(std::int64_t now, std::int64_t before) {
    database_.execute(
        fmt::format("delete unused from dedloc_unused_version unused left join app_version "
                    "published on published.id = unused.id "
                    "where unused.is_final = 0 and (published.id is null or not ({}))",
                    kIsUnused),
        {server::ServerState::kOver});
    database_.execute(
        fmt::format(
            "insert ignore into dedloc_unused_version (id, since) select published.id, ? from "
            "app_version published where published.xml_doc <> '' and {}",
            kIsUnused),
        {now, server::ServerState::kOver});
    for (const auto& row : database_.query(
             "select id from dedloc_unused_version where is_final = 0 and since < ?", {before})) {
        server::in_transaction(database_, [&] {
            // Locked and looked at again: the administrator may offer it again.
            const auto id = row.integer("id");
            const auto locked =
                database_.query_one(fmt::format("select published.id from app_version published "
                                                "where published.id = ? and {} for update",
                                                kIsUnused),
                                    {id, server::ServerState::kOver});
            if (!locked) return;
            database_.execute("update app_version set deprecated = 1 where id = ?", {id});
            database_.execute("update dedloc_unused_version set is_final = 1 where id = ?", {id});
        });
    }
}

/// The lock keeps out a version that is being published with one of the files, and a change of the
/// key, which signs all files.
int DownloadPurge::delete_versions() {
    const auto lock = try_lock(config_.key_directory);
    if (!lock) return 0;
    std::set<std::string> needed;
    std::vector<std::pair<std::int64_t, std::set<std::string>>> final;
    for (const auto& row :
         database_.query("select published.id, published.xml_doc, published.version_num, "
                         "published.plan_class, app.name as app, platform.name as platform, "
                         "coalesce(unused.is_final, 0) as is_final from app_version published join "
                         "app on app.id = published.appid join platform on platform.id = "
                         "published.platformid left join dedloc_unused_version unused on "
                         "unused.id = published.id where published.xml_doc <> ''")) {
        auto names = server::described_names(row.text("xml_doc"));
        names.insert(server::bill_name(row));
        if (row.integer("is_final") == 0) {
            needed.merge(names);
        } else {
            final.emplace_back(row.integer("id"), std::move(names));
        }
    }
    int files = 0;
    for (const auto& [id, names] : final) {
        bool is_gone = true;
        for (const auto& name : names) {
            if (needed.contains(name)) continue;
            for (const auto& file : {name, name + ".gz"}) {
                is_gone = remove_file(config_.download_directory / file, files) && is_gone;
            }
        }
        if (is_gone) database_.execute("update app_version set xml_doc = '' where id = ?", {id});
    }
    return files;
}

}  // namespace dedloc::purge
