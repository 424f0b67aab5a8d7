// Most steps of pass() delete a limited number of rows or files that have not changed for the grace
// period. Output files go before the rows of their job: only a job whose files are marked as
// deleted loses its rows, under a lock and after its condition has been tested again, since a
// report may have come. Files that arrive later are found by searching the upload tree. The places
// to go on from (next_folder_, last_host_) last from pass to pass. Under an official server only
// uploads and messages of ours go, besides our own tables.
#include "project_server/purge/purge.hpp"

// Must be the first of BOINC's headers: it configures the others.
#include <config.h>

#include <fmt/format.h>
#include <sched_util.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/formats/receipt.hpp"
#include "project_server/database/boinc_apps.hpp"
#include "project_server/database/states.hpp"
#include "project_server/official/uploads.hpp"
#include "project_server/xml/job_documents.hpp"

namespace dedloc::purge {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDay = 86'400;  // seconds
/// How long sites of statistics have to learn of a deleted account.
constexpr std::int64_t kDeletedKept = 60 * kDay;

/// The end of the name of an upload that is not complete (project_server/transfer).
constexpr const char* kUnfinished = ".unfinished";

/// A closed job of which nothing has changed since the given time. The subquery holds for late
/// reports, which may come as long as the row is there.
constexpr const char* kIsOver =
    "w.appid = ? and w.assimilate_state = ? and w.file_delete_state = ? and "
    "w.mod_time < from_unixtime(?) and w.need_validate = 0 and not exists (select 1 from result r "
    "where r.workunitid = w.id and (r.server_state <> ? or r.mod_time >= from_unixtime(?)))";

}  // namespace

Purge::Purge(server::ProjectConfig project, server::Database& database, PurgeOptions options)
    : config_(std::move(project)),
      database_(database),
      options_(std::move(options)),
      compaction_(database, options_.batch),
      downloads_(config_, database) {}

PurgeReport Purge::pass(std::int64_t now) {
    PurgeReport report;
    database_.ensure_connected();
    const std::int64_t before = now - options_.grace;
    if (!options_.keeps_jobs) {
        for (const auto& app : database_.query(
                 fmt::format("select id from app where name in {}", server::kAppsInSql))) {
            delete_files(app.integer("id"), before, report);
            delete_jobs(app.integer("id"), before, report);
        }
        sweep_uploads(before, report);
        delete_messages(before, report);
        delete_deleted(std::min(before, now - kDeletedKept), report);
        delete_hosts(before, report);
        report.downloads = downloads_.pass(now, before);
    } else {
        report.files += official::delete_uploads(config_, database_, {.before = before});
        delete_own_messages(before, report);
    }
    sweep_evidence(now, report);
    delete_tickets(before, report);
    delete_seats(before, report);
    report.contributions = compaction_.pass(now - options_.compaction_age);
    return report;
}

fs::path Purge::path_of(const std::string& name) const {
    std::array<char, 4096> path{};
    if (dir_hier_path(name.c_str(), config_.upload_directory.c_str(), config_.directory_fanout,
                      path.data(), false) != 0) {
        throw IoError(fmt::format("Cannot compute the path of the output file {}.", name));
    }
    return path.data();
}

void Purge::delete_files(std::int64_t app, std::int64_t before, PurgeReport& report) {
    if (retried_.insert(app).second) {
        database_.execute(
            "update workunit set file_delete_state = ?, mod_time = mod_time where appid = ? and "
            "assimilate_state = ? and file_delete_state = ?",
            {server::FileDeleteState::kInit, app, server::AssimilateState::kDone,
             server::FileDeleteState::kError});
    }
    for (const auto& job : database_.query(
             fmt::format("select w.id from workunit w where {} order by w.mod_time limit ?",
                         kIsOver),
             {app, server::AssimilateState::kDone, server::FileDeleteState::kInit, before,
              server::ServerState::kOver, before, options_.batch})) {
        auto state = server::FileDeleteState::kDone;
        for (const auto& result : database_.query(
                 "select xml_doc_in from result where workunitid = ?", {job.integer("id")})) {
            for (const auto& name : server::referenced_files(result.text("xml_doc_in"))) {
                for (const auto& path : {path_of(name), fs::path{path_of(name) += kUnfinished}}) {
                    std::error_code failure;
                    if (fs::remove(path, failure)) ++report.files;
                    if (!failure) continue;
                    log_warning("cannot delete {}: {}", path.string(), failure.message());
                    state = server::FileDeleteState::kError;
                }
            }
        }
        // The time of the last change stays, because the rows' grace period runs from it.
        server::in_transaction(database_, [&] {
            database_.execute(
                "update workunit set file_delete_state = ?, mod_time = mod_time where id = ?",
                {state, job.integer("id")});
            database_.execute(
                "update result set file_delete_state = ?, mod_time = mod_time where "
                "workunitid = ?",
                {state, job.integer("id")});
        });
    }
}

/// The newest workunit stays: dedloc-work names the next job after its number, and no name may be
/// used twice.
void Purge::delete_jobs(std::int64_t app, std::int64_t before, PurgeReport& report) {
    const auto newest = database_.query_one("select coalesce(max(id), 0) as id from workunit");
    for (const auto& job : database_.query(
             fmt::format("select w.id from workunit w where {} and w.id < ? order by w.mod_time "
                         "limit ?",
                         kIsOver),
             {app, server::AssimilateState::kDone, server::FileDeleteState::kDone, before,
              server::ServerState::kOver, before, newest->integer("id"), options_.batch})) {
        server::in_transaction(database_, [&] {
            // Locked and looked at again: a report may have arrived.
            const auto locked = database_.query_one(
                fmt::format("select w.id from workunit w where w.id = ? and {} for update",
                            kIsOver),
                {job.integer("id"), app, server::AssimilateState::kDone,
                 server::FileDeleteState::kDone, before, server::ServerState::kOver, before});
            if (!locked) return;
            database_.execute("delete from result where workunitid = ?", {job.integer("id")});
            database_.execute("delete from workunit where id = ?", {job.integer("id")});
            ++report.jobs;
        });
    }
}

void Purge::sweep_uploads(std::int64_t before, PurgeReport& report) {
    if (config_.directory_fanout <= 0) return;
    for (int i = 0; i < options_.upload_folders; ++i) {
        sweep_folder(config_.upload_directory / fmt::format("{:x}", next_folder_), before, report);
        next_folder_ = (next_folder_ + 1) % config_.directory_fanout;
    }
}

void Purge::sweep_folder(const fs::path& folder, std::int64_t before, PurgeReport& report) {
    std::error_code failure;
    for (fs::directory_iterator entry{folder, failure}, end; !failure && entry != end;
         entry.increment(failure)) {
        struct stat facts {};
        if (lstat(entry->path().c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
        if (facts.st_mtime >= before) continue;
        const std::string result = server::result_of_output(entry->path().filename().string());
        if (result.empty()) continue;  // not an output file
        if (database_.query_one("select id from result where name = ?", {result})) continue;
        std::error_code failed;
        if (fs::remove(entry->path(), failed)) ++report.files;
        if (failed) log_warning("cannot delete {}: {}", entry->path().string(), failed.message());
    }
}

/// Messages that no daemon has taken go as well, or a volunteer could fill the disk with them.
void Purge::delete_messages(std::int64_t before, PurgeReport& report) {
    for (const char* const table : {"msg_from_host", "msg_to_host"}) {
        for (const int handled : {0, 1}) {
            report.messages += static_cast<int>(database_.execute(
                fmt::format("delete from {} where handled = ? and create_time < ? "
                            "order by create_time limit ?",
                            table),
                {handled, before, options_.batch}));
        }
    }
}

/// No program of BOINC's deletes messages, whether handled or not.
void Purge::delete_own_messages(std::int64_t before, PurgeReport& report) {
    for (const int handled : {0, 1}) {
        report.messages += static_cast<int>(
            database_.execute("delete from msg_from_host where variety = ? and handled = ? and "
                              "create_time < ? order by create_time limit ?",
                              {formats::kCreditMessage, handled, before, options_.batch}));
    }
}

void Purge::delete_deleted(std::int64_t before, PurgeReport& report) {
    for (const char* const table : {"user_deleted", "host_deleted"}) {
        report.deleted +=
            static_cast<int>(database_.execute(fmt::format("delete from {} where create_time < ? "
                                                           "order by create_time limit ?",
                                                           table),
                                               {before, options_.batch}));
    }
}

/// A file is written before its row, so a young one is left alone.
void Purge::sweep_evidence(std::int64_t now, PurgeReport& report) {
    if (options_.evidence.empty() || now - evidence_swept_ < kDay) return;
    std::error_code failure;
    for (fs::directory_iterator entry{options_.evidence, failure}, end; !failure && entry != end;
         entry.increment(failure)) {
        struct stat facts {};
        if (lstat(entry->path().c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
        if (facts.st_mtime >= now - options_.grace) continue;
        const std::string name = options_.evidence.filename() / entry->path().filename();
        if (database_.query_one("select id from dedloc_suspicion where evidence = ? limit 1",
                                {name})) {
            continue;
        }
        std::error_code failed;
        if (fs::remove(entry->path(), failed)) ++report.evidence;
        if (failed) log_warning("cannot delete {}: {}", entry->path().string(), failed.message());
    }
    evidence_swept_ = now;
}

/// A ticket says whose a key's contributions are. It stays until the database has all commits of
/// its lifetime, and while a contribution of the key is not compacted.
void Purge::delete_tickets(std::int64_t before, PurgeReport& report) {
    for (const auto& run : database_.query(
             "select d.id, d.state, coalesce((select s.committed_at from dedloc_step s where "
             "s.runid = d.id order by s.step desc limit 1), 0) as recorded from dedloc_run d")) {
        const auto recorded = static_cast<std::int64_t>(run.real("recorded"));
        const auto last = run.text("state") == "finished" ? before : std::min(before, recorded);
        report.tickets += static_cast<int>(database_.execute(
            "delete from dedloc_ticket where runid = ? and expires < ? and not exists (select 1 "
            "from dedloc_contribution c where c.runid = dedloc_ticket.runid and "
            "c.peer_key = dedloc_ticket.peer_key) "
            "order by expires limit ?",
            {run.integer("id"), last, options_.batch}));
    }
}

/// A request without a computer's id makes a row, so rows that never had a job are of no use. A job
/// leaves a row of host_app_version for ever.
void Purge::delete_hosts(std::int64_t before, PurgeReport& report) {
    const auto page = database_.query(
        "select h.id, h.create_time < ? and h.rpc_time < ? and h.total_credit = 0 and "
        "h.max_results_day <> -1 and "
        "not exists (select 1 from host_app_version v where v.host_id = h.id) and "
        "not exists (select 1 from result r where r.hostid = h.id) and "
        "not exists (select 1 from dedloc_revocation b where b.kind = 'host' and "
        "b.subject = cast(h.id as char)) as is_unused "
        "from host h where h.id > ? order by h.id limit ?",
        {before, before, last_host_, options_.batch});
    for (const auto& host : page) {
        last_host_ = host.integer("id");
        if (host.integer("is_unused") == 0) continue;
        // Its client may have come back meanwhile.
        report.hosts += static_cast<int>(database_.execute(
            "delete from host where id = ? and rpc_time < ?", {last_host_, before}));
    }
    if (static_cast<int>(page.size()) < options_.batch) last_host_ = 0;
}

void Purge::delete_seats(std::int64_t before, PurgeReport& report) {
    report.seats += static_cast<int>(database_.execute(
        "delete from dedloc_seat where last_seen < ? and (state = 'left' or exists (select 1 from "
        "dedloc_run d where d.id = dedloc_seat.runid and d.state = 'finished')) "
        "order by last_seen limit ?",
        {before, options_.batch}));
}

}  // namespace dedloc::purge
