// The name of a complete report is acknowledged whether or not a result is found. A result that the
// host has in progress is known already; any other one is looked up in the whole account and
// locked. The update repeats the condition under which a report counts, so a result that has ended
// meanwhile stays as it is, and the quota changes only if that update matched. The workunit is
// written before its result, in the order in which the transitioner locks them. A message is
// inserted by a statement that tests by itself whose job it is and whether another one waits.
#include "project_server/scheduler/reports.hpp"

#include <boinc_db_types.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "peer/base/log.hpp"
#include "peer/formats/receipt.hpp"
#include "project_server/database/states.hpp"

namespace dedloc::server {
namespace {

constexpr int kFilesUploaded = 5;  // client state of a result whose output files are all uploaded

/// The results that a report may still change: those in progress, and those that the server gave up
/// because nothing was heard of them, or because their client seemed to have started anew, which an
/// official server concludes from less than certainty.
constexpr const char* kAwaited = "(server_state = ? or (server_state = ? and outcome in (?, ?)))";

/// A result that may be reported.
struct Reportable {
    std::int64_t id = 0;
    std::int64_t workunit = 0;
    std::int64_t app_version = 0;
};

/// Finds it among all results of the account, locks its row, and checks that it is not stored yet.
/// The host may have got a new row since the job was sent, and the job may have been given up.
std::optional<Reportable> find_reportable(Database& database, const Account& account,
                                          const std::string& name) {
    const auto row = database.query_one(
        fmt::format("select id, workunitid, app_version_id from result where name = ? and "
                    "userid = ? and {} for update",
                    kAwaited),
        {name, account.id, ServerState::kInProgress, ServerState::kOver, ResultOutcome::kNoReply,
         ResultOutcome::kDetached});
    if (!row) return std::nullopt;
    return Reportable{.id = row->integer("id"),
                      .workunit = row->integer("workunitid"),
                      .app_version = row->integer("app_version_id")};
}

bool is_success(const ReportedResult& report) {
    return report.client_state == kFilesUploaded && report.exit_status == 0;
}

/// Stores nothing if the result is over meanwhile and not given up. The workunit is written
/// first, in the order in which the transitioner locks them. mod_time is the end of an index for
/// dedloc-purge, which asks for closed workunits only.
void store_report(Database& database, const Account& account, const Host& host,
                  const ReportedResult& report, const Reportable& result, std::int64_t now) {
    const bool success = is_success(report);
    database.defer("update workunit set transition_time = ?, mod_time = mod_time where id = ?",
                   {now, result.workunit});
    database.defer(
        fmt::format(
            "update result use index (primary) set server_state = ?, outcome = ?, client_state = "
            "?, validate_state = ?, received_time = ?, hostid = ?, teamid = ?, cpu_time = ?, "
            "elapsed_time = ?, exit_status = ?, stderr_out = ?, xml_doc_out = ?, "
            "peak_working_set_size = ?, peak_swap_size = ?, peak_disk_usage = ? "
            "where id = ? and userid = ? and {}",
            kAwaited),
        {ServerState::kOver,
         success ? ResultOutcome::kSuccess : ResultOutcome::kClientError,
         *report.client_state,
         success ? ValidateState::kInit : ValidateState::kInvalid,
         now,
         host.id,
         account.team_id,
         report.cpu_seconds,
         report.elapsed_seconds,
         *report.exit_status,
         report.standard_error,
         report.output_files,
         report.peak_working_set,
         report.peak_swap,
         report.peak_disk,
         result.id,
         account.id,
         ServerState::kInProgress,
         ServerState::kOver,
         ResultOutcome::kNoReply,
         ResultOutcome::kDetached});
}

}  // namespace

std::vector<std::string> store_reports(Database& database, const Account& account, const Host& host,
                                       const std::vector<ReportedResult>& reports,
                                       std::vector<HeldJob>& held, DailyQuota& quota,
                                       std::int64_t now) {
    std::vector<std::string> acknowledged;
    for (const ReportedResult& report : reports) {
        if (!report.is_complete()) {
            log_warning("the report of result {} by host {} is damaged; it is not acknowledged",
                        report.name, host.id);
            continue;
        }
        acknowledged.push_back(report.name);
        std::optional<Reportable> result;
        const auto job = std::ranges::find(held, report.name, &HeldJob::name);
        if (job != held.end()) {
            result = {.id = job->id, .workunit = job->workunit, .app_version = job->app_version};
            held.erase(job);
        } else {
            result = find_reportable(database, account, report.name);
        }
        if (!result) continue;
        store_report(database, account, host, report, *result, now);
        quota.adjust(result->app_version, is_success(report));
        log_info("result {} reported by host {}: {}, exit status {}", report.name, host.id,
                 is_success(report) ? "success" : "error", *report.exit_status);
    }
    return acknowledged;
}

void store_messages(Database& database, const Account& account,
                    const std::vector<HostMessage>& messages, std::int64_t now) {
    std::set<std::string> seen;  // results, of which no more than kMaxReports
    for (const HostMessage& message : messages) {
        const bool is_wanted = message.variety == formats::kCreditMessage &&
                               seen.size() < kMaxReports && seen.insert(message.result).second;
        if (!is_wanted) continue;
        database.execute(
            "insert into msg_from_host (create_time, hostid, variety, handled, xml) "
            "select ?, r.hostid, ?, 0, ? from result r where r.name = ? and r.userid = ? and "
            "not exists (select 1 from msg_from_host m where m.hostid = r.hostid and "
            "m.handled = 0 and m.variety = ? and "
            "locate(concat('<result_name>', r.name, '</result_name>'), m.xml) > 0)",
            {now, message.variety, message.body, message.result, account.id, message.variety});
    }
}

Aborts useless_results(Database& database, const Account& account,
                       const std::vector<std::string>& names) {
    Aborts aborts;
    for (const std::string& name : names) {
        const auto row = database.query_one(
            "select r.server_state, r.outcome, w.error_mask, w.assimilate_state "
            "from result r join workunit w on w.id = r.workunitid where r.name = ? "
            "and r.userid = ?",
            {name, account.id});
        if (!row || (row->integer("error_mask") & WU_ERROR_CANCELLED) != 0) {
            aborts.now.push_back(name);
        } else if (state_of<AssimilateState>(*row, "assimilate_state") == AssimilateState::kDone ||
                   (state_of<ServerState>(*row, "server_state") == ServerState::kOver &&
                    state_of<ResultOutcome>(*row, "outcome") == ResultOutcome::kNoReply)) {
            aborts.if_not_started.push_back(name);
        }
    }
    return aborts;
}

std::string take_messages_for(Database& database, const Host& host) {
    std::string elements;
    for (const Row& row : database.query(
             "select id, xml from msg_to_host where hostid = ? and handled = 0 order by id limit ? "
             "for update",
             {host.id, kMaxMessages})) {
        elements += row.text("xml");
        database.execute("update msg_to_host set handled = 1 where id = ?", {row.integer("id")});
    }
    return elements;
}

}  // namespace dedloc::server
