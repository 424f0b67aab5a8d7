#include "project_server/scheduler/dispatch.hpp"

#include <boinc_db_types.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "peer/base/log.hpp"
#include "project_server/database/revocations.hpp"
#include "project_server/scheduler/daily_quota.hpp"
#include "project_server/scheduler/xml.hpp"

namespace dedloc::server {
namespace {

constexpr double kCoresPerJob = 1;
constexpr double kUnknownFlops = 1e9;  // assumed for a core until its client has run the benchmark
/// Rows read for each job wanted, because other requests may take some of them before we mark them.
constexpr int kCandidatesPerJob = 8;

struct Version {
    std::int64_t id = 0;
    std::int64_t number = 0;
    std::string platform;
    std::string document;
    std::string app_element;
};

std::string app_element(const Row& row) {
    return fmt::format(
        "<app>\n    <name>{}</name>\n    <user_friendly_name>{}</user_friendly_name>\n"
        "    <non_cpu_intensive>{}</non_cpu_intensive>\n"
        "    <fraction_done_exact>{}</fraction_done_exact>\n</app>\n",
        escape_markup(row.text("app_name")), escape_markup(row.text("user_friendly_name")),
        row.integer("non_cpu_intensive"), row.integer("fraction_done_exact"));
}

/// The newest version of each app that this client can run on its CPU, by app id.
std::map<std::int64_t, Version> usable_versions(Database& database,
                                                const std::vector<std::string>& platforms) {
    std::map<std::int64_t, Version> versions;
    for (const std::string& platform : platforms) {
        const Rows rows = database.query(
            "select v.id, v.appid, v.version_num, v.xml_doc, a.name as app_name, "
            "a.user_friendly_name, a.non_cpu_intensive, a.fraction_done_exact "
            "from app_version v join app a on a.id = v.appid join platform p "
            "on p.id = v.platformid where p.name = ? and p.deprecated = 0 and v.deprecated = 0 "
            "and a.deprecated = 0 and v.plan_class = '' and v.version_num >= a.min_version "
            "order by v.version_num desc",
            {platform});
        for (const Row& row : rows) {
            versions.try_emplace(row.integer("appid"), Version{.id = row.integer("id"),
                                                               .number = row.integer("version_num"),
                                                               .platform = platform,
                                                               .document = row.text("xml_doc"),
                                                               .app_element = app_element(row)});
        }
    }
    return versions;
}

/// `text` with `insertion` after (or before) the first `mark`; unchanged without one.
std::string insert_at(std::string text, std::string_view mark, std::string_view insertion,
                      bool after) {
    const auto found = text.find(mark);
    if (found == std::string::npos) return text;
    return text.insert(after ? found + mark.size() : found, insertion);
}

std::string version_element(const Version& version, const HostReport& host) {
    const double flops = (host.flops > 0 ? host.flops : kUnknownFlops) * kCoresPerJob;
    return insert_at(version.document, "</app_version>",
                     fmt::format("    <platform>{}</platform>\n    <plan_class></plan_class>\n"
                                 "    <avg_ncpus>{:.6f}</avg_ncpus>\n    <flops>{:.6f}</flops>\n",
                                 version.platform, kCoresPerJob, flops),
                     false);
}

std::string workunit_element(const Row& job) {
    return insert_at(job.text("xml_doc"), "<workunit>\n",
                     fmt::format("    <rsc_fpops_est>{:.6f}</rsc_fpops_est>\n"
                                 "    <rsc_fpops_bound>{:.6f}</rsc_fpops_bound>\n"
                                 "    <rsc_memory_bound>{:.6f}</rsc_memory_bound>\n"
                                 "    <rsc_disk_bound>{:.6f}</rsc_disk_bound>\n"
                                 "    <name>{}</name>\n    <app_name>{}</app_name>\n",
                                 job.real("rsc_fpops_est"), job.real("rsc_fpops_bound"),
                                 job.real("rsc_memory_bound"), job.real("rsc_disk_bound"),
                                 job.text("workunit_name"), escape_markup(job.text("app_name"))),
                     true);
}

std::string result_element(const Row& job, const Version& version, std::int64_t deadline) {
    const std::string opened =
        insert_at(job.text("xml_doc_in"), "<result>\n",
                  fmt::format("<report_deadline>{}</report_deadline>\n<wu_name>{}</wu_name>\n"
                              "<name>{}</name>\n",
                              deadline, job.text("workunit_name"), job.text("name")),
                  true);
    return insert_at(opened, "</result>",
                     fmt::format("    <platform>{}</platform>\n"
                                 "    <version_num>{}</version_num>\n"
                                 "    <plan_class></plan_class>\n",
                                 version.platform, version.number),
                     false);
}

constexpr const char* kJobColumns =
    "select r.id, r.name, r.xml_doc_in, r.workunitid, w.appid, w.name as workunit_name, w.xml_doc, "
    "w.rsc_fpops_est, w.rsc_fpops_bound, w.rsc_memory_bound, w.rsc_disk_bound, w.delay_bound, "
    "w.error_mask, w.canonical_resultid, a.name as app_name from result r "
    "join workunit w on w.id = r.workunitid join app a on a.id = w.appid ";

/// Serves one request; collects the elements of the reply.
class Dispatcher {
  public:
    Dispatcher(Database& database, const ProjectConfig& config, const Account& account,
               const Host& host, const SchedulerRequest& request, std::int64_t now)
        : database_(database),
          account_(account),
          host_(host),
          request_(request),
          now_(now),
          versions_(usable_versions(database, request.platforms)),
          quota_(database, config, host, request.host.cores, now) {}

    bool has_versions() const { return !versions_.empty(); }

    /// Sends jobs again that the client lost with a reply or when the volunteer reset the project.
    void resend_lost(int wanted) {
        if (!request_.other_results) return;
        const std::set<std::string> held{request_.other_results->begin(),
                                         request_.other_results->end()};
        for (const Row& job : database_.query(
                 std::string{kJobColumns} + "where r.hostid = ? and r.server_state = ? for update",
                 {host_.id, RESULT_SERVER_STATE_IN_PROGRESS})) {
            if (dispatch_.jobs == wanted) return;
            if (held.contains(job.text("name")) || is_over(job)) continue;
            if (send(job, RESULT_SERVER_STATE_IN_PROGRESS)) {
                log_info("result {} resent to host {}", job.text("name"), host_.id);
            }
        }
    }

    void send_unsent(int wanted) {
        const int limit = (wanted - dispatch_.jobs) * kCandidatesPerJob;
        if (limit <= 0) return;
        for (const Row& job : database_.query(
                 std::string{kJobColumns} +
                     "where r.server_state = ? and a.deprecated = 0 and "
                     "w.transitioner_flags = 0 and w.rsc_memory_bound <= ? and "
                     "w.rsc_disk_bound <= ? order by r.priority desc, r.random, r.id limit ?",
                 {RESULT_SERVER_STATE_UNSENT, request_.host.memory_bytes, disk_bytes(), limit})) {
            if (dispatch_.jobs == wanted) return;
            const auto version = versions_.find(job.integer("appid"));
            if (is_over(job) || version == versions_.end()) continue;
            if (!quota_.allows(version->second.id)) continue;
            if (send(job, RESULT_SERVER_STATE_UNSENT)) {
                quota_.count(version->second.id);
                log_info("result {} sent to host {}", job.text("name"), host_.id);
            }
        }
    }

    Dispatch finish() && {
        if (dispatch_.jobs == 0) dispatch_.message = reason_for_none();
        return std::move(dispatch_);
    }

  private:
    std::string reason_for_none() {
        if (const auto limit = quota_.spent()) {
            return fmt::format(
                "This computer has had the {} {} that it may get today. Tasks that fail lower this "
                "number, and tasks that succeed raise it again.",
                *limit, *limit == 1 ? "task" : "tasks");
        }
        const auto row = database_.query_one(
            "select count(*) as unsent, coalesce(min(w.rsc_memory_bound), 0) as memory, "
            "coalesce(min(w.rsc_disk_bound), 0) as disk from result r "
            "join workunit w on w.id = r.workunitid where r.server_state = ?",
            {RESULT_SERVER_STATE_UNSENT});
        constexpr double kMegabyte = 1024 * 1024;
        if (row->integer("unsent") == 0) return "No tasks are available now.";
        if (row->real("memory") > request_.host.memory_bytes) {
            return fmt::format("Tasks need {:.0f} MB of memory; this computer has {:.0f} MB.",
                               row->real("memory") / kMegabyte,
                               request_.host.memory_bytes / kMegabyte);
        }
        if (row->real("disk") > disk_bytes()) {
            return fmt::format("Tasks need {:.0f} MB of disk; BOINC may use {:.0f} MB here.",
                               row->real("disk") / kMegabyte, disk_bytes() / kMegabyte);
        }
        return "No tasks are available for this computer now.";
    }

    static bool is_over(const Row& job) {
        return job.integer("error_mask") != 0 || job.integer("canonical_resultid") != 0;
    }

    double disk_bytes() const {
        const HostReport& host = request_.host;
        return host.disk_share_of_project > 0 ? host.disk_share_of_project : host.disk_free;
    }

    /// False if another request took the row first, or no app version fits.
    bool send(const Row& job, int expected_state) {
        const auto version = versions_.find(job.integer("appid"));
        if (version == versions_.end()) return false;
        const std::int64_t deadline = now_ + job.integer("delay_bound");
        const double flops = request_.host.flops > 0 ? request_.host.flops : kUnknownFlops;
        const auto marked = database_.execute(
            "update result set server_state = ?, hostid = ?, userid = ?, teamid = ?, "
            "sent_time = ?, report_deadline = ?, app_version_id = ?, app_version_num = ?, "
            "flops_estimate = ? where id = ? and server_state = ?",
            {RESULT_SERVER_STATE_IN_PROGRESS, host_.id, account_.id, account_.team_id, now_,
             deadline, version->second.id, version->second.number, flops * kCoresPerJob,
             job.integer("id"), expected_state});
        if (marked == 0) return false;
        database_.execute(
            "update workunit set transition_time = least(transition_time, ?) where id = ?",
            {deadline, job.integer("workunitid")});
        quota_.add(version->second.id);
        if (announced_.insert(version->first).second) {
            dispatch_.elements += version->second.app_element;
            dispatch_.elements += version_element(version->second, request_.host);
        }
        dispatch_.elements += workunit_element(job);
        dispatch_.elements += result_element(job, version->second, deadline);
        ++dispatch_.jobs;
        return true;
    }

    Database& database_;
    const Account& account_;
    const Host& host_;
    const SchedulerRequest& request_;
    const std::int64_t now_;
    const std::map<std::int64_t, Version> versions_;
    DailyQuota quota_;
    std::set<std::int64_t> announced_;  ///< apps that the reply already describes
    Dispatch dispatch_;
};

/// Number of jobs that the database says the host has.
int jobs_in_progress(Database& database, const Host& host) {
    const auto row =
        database.query_one("select count(*) as n from result where hostid = ? and server_state = ?",
                           {host.id, RESULT_SERVER_STATE_IN_PROGRESS});
    return static_cast<int>(row->integer("n"));
}

/// How many more jobs the host may get. A client that has no job and asks only for seconds of work
/// gets one.
int wanted_jobs(const ProjectConfig& config, const SchedulerRequest& request, int held) {
    if (request.wanted_cpu_seconds <= 0 && request.idle_cores <= 0) return 0;
    const double cores = static_cast<double>(request.host.cores);
    const int idle = static_cast<int>(std::ceil(std::clamp(request.idle_cores, 0.0, cores)));
    const int asked = idle > 0 ? idle : (held == 0 ? 1 : 0);
    const int free_slots = static_cast<int>(request.host.cores) * config.jobs_per_core - held;
    return std::max(0, std::min(asked, free_slots));
}

}  // namespace

Dispatch dispatch_jobs(Database& database, const ProjectConfig& config, const Account& account,
                       const Host& host, const SchedulerRequest& request, std::int64_t now) {
    const int recorded = jobs_in_progress(database, host);
    // Jobs that the client does not have do not fill its cores: they are resent, not counted.
    const int held = request.other_results
                         ? std::min(recorded, static_cast<int>(request.other_results->size()))
                         : recorded;
    const int wanted = wanted_jobs(config, request, held);
    if (wanted == 0) return {};
    if (host.is_banned) {
        return {.message = "This computer gets no tasks; ask the project's administrator."};
    }
    if (is_revoked(database, account.id, host.id)) {
        return {.message =
                    "The project has excluded this account or this computer, so it gets no "
                    "tasks; ask the project's administrator."};
    }
    Dispatcher dispatcher{database, config, account, host, request, now};
    if (!dispatcher.has_versions()) {
        return {.message = fmt::format(
                    "This project has no application for {}.",
                    request.platforms.empty() ? "this computer" : request.platforms.front())};
    }
    dispatcher.resend_lost(wanted);
    dispatcher.send_unsent(wanted);
    return std::move(dispatcher).finish();
}

}  // namespace dedloc::server
