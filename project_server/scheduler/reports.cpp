#include "project_server/scheduler/reports.hpp"

#include <boinc_db_types.h>

#include "peer/base/log.hpp"
#include "project_server/scheduler/daily_quota.hpp"

namespace dedloc::server {
namespace {

constexpr int kFilesUploaded = 5;  // client state of a result whose output files are all uploaded

bool awaits_report(const Row& row) {
    const auto state = row.integer("server_state");
    if (state == RESULT_SERVER_STATE_IN_PROGRESS) return true;
    return state == RESULT_SERVER_STATE_OVER && row.integer("outcome") == RESULT_OUTCOME_NO_REPLY;
}

void store_report(Database& database, const ProjectConfig& config, const Account& account,
                  const Host& host, const ReportedResult& report, const Row& row,
                  std::int64_t now) {
    const bool success = report.client_state == kFilesUploaded && report.exit_status == 0;
    database.execute(
        "update result set server_state = ?, outcome = ?, client_state = ?, validate_state = ?, "
        "received_time = ?, hostid = ?, teamid = ?, cpu_time = ?, elapsed_time = ?, "
        "exit_status = ?, stderr_out = ?, xml_doc_out = ?, peak_working_set_size = ?, "
        "peak_swap_size = ?, peak_disk_usage = ? where id = ?",
        {RESULT_SERVER_STATE_OVER, success ? RESULT_OUTCOME_SUCCESS : RESULT_OUTCOME_CLIENT_ERROR,
         report.client_state, success ? VALIDATE_STATE_INIT : VALIDATE_STATE_INVALID, now, host.id,
         account.team_id, report.cpu_seconds, report.elapsed_seconds, report.exit_status,
         report.standard_error, report.output_files, report.peak_working_set, report.peak_swap,
         report.peak_disk, row.integer("id")});
    database.execute("update workunit set transition_time = ? where id = ?",
                     {now, row.integer("workunitid")});
    adjust_quota(database, config, host, row.integer("app_version_id"), success);
    log_info("result {} reported by host {}: {}, exit status {}", report.name, host.id,
             success ? "success" : "error", report.exit_status);
}

}  // namespace

std::vector<std::string> store_reports(Database& database, const ProjectConfig& config,
                                       const Account& account, const Host& host,
                                       const std::vector<ReportedResult>& reports,
                                       std::int64_t now) {
    std::vector<std::string> acknowledged;
    for (const ReportedResult& report : reports) {
        const auto row = database.query_one(
            "select id, userid, workunitid, app_version_id, server_state, outcome from result "
            "where name = ? for update",
            {report.name});
        // The host may have got a new row since the job was sent; its account is the same.
        if (row && row->integer("userid") == account.id && awaits_report(*row)) {
            store_report(database, config, account, host, report, *row, now);
        }
        acknowledged.push_back(report.name);
    }
    return acknowledged;
}

void store_messages(Database& database, const Host& host, const std::vector<HostMessage>& messages,
                    std::int64_t now) {
    for (const HostMessage& message : messages) {
        database.execute(
            "insert into msg_from_host (create_time, hostid, variety, handled, xml) "
            "values (?, ?, ?, 0, ?)",
            {now, host.id, message.variety, message.body});
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
        } else if (row->integer("assimilate_state") == ASSIMILATE_DONE ||
                   (row->integer("server_state") == RESULT_SERVER_STATE_OVER &&
                    row->integer("outcome") == RESULT_OUTCOME_NO_REPLY)) {
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
