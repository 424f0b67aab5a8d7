#include "project_server/scheduler/dispatch.hpp"

#include <boinc_db_types.h>
#include <fmt/format.h>

#include <optional>
#include <set>

#include "peer/base/log.hpp"
#include "project_server/database/revocations.hpp"
#include "project_server/scheduler/daily_quota.hpp"
#include "project_server/scheduler/job_elements.hpp"
#include "project_server/scheduler/no_work.hpp"
#include "project_server/scheduler/seats.hpp"
#include "project_server/scheduler/version_choice.hpp"

namespace dedloc::server {
namespace {

/// Unsent jobs that are looked at: some do not fit the host, and other requests may take some of
/// them before we mark them.
constexpr int kCandidates = 64;

constexpr const char* kJobColumns =
    "select straight_join r.id, r.name, r.workunitid, w.appid, w.name as workunit_name, "
    "w.rsc_fpops_est, "
    "w.rsc_fpops_bound, w.rsc_memory_bound, w.rsc_disk_bound, w.delay_bound, w.error_mask, "
    "w.canonical_resultid, coalesce(d.gpu_memory, 0) as gpu_memory from ";
constexpr const char* kJobJoins =
    " r join workunit w on w.id = r.workunitid join app a on a.id = w.appid "
    "left join dedloc_run d on d.id = w.opaque ";
/// The index on state and priority yields these rows in order, however many are unsent. The joins
/// begin with them, or the database would read all workunits.
constexpr const char* kFirstUnsent =
    "(select id, name, workunitid, priority from result where server_state = ? "
    "order by server_state desc, priority desc limit ?)";

/// Serves one request; collects the elements of the reply.
class Dispatcher {
  public:
    Dispatcher(Database& database, const ProjectConfig& config, const Catalogue& catalogue,
               const Account& account, const Host& host, const SchedulerRequest& request,
               std::int64_t now)
        : database_(database),
          account_(account),
          host_(host),
          request_(request),
          now_(now),
          seats_(seats_of(config, request)),
          choice_(catalogue, request,
                  parse_project_preferences(account.project_preferences, host.venue)),
          quota_(database, config, host) {}

    Dispatch run(const std::vector<HeldJob>& recorded, const JobCounts& wanted) && {
        wanted_ = wanted;
        if (can_use_any()) {
            resend_lost(recorded);
            send_unsent();
        }
        if (dispatch_.jobs == 0) {
            dispatch_.messages = reasons_for_none(database_, {.request = request_,
                                                              .choice = choice_,
                                                              .wanted = wanted_,
                                                              .memory = usable_memory(request_),
                                                              .disk = usable_disk(request_),
                                                              .spent_quota = quota_.spent()});
        }
        dispatch_.elements = std::move(elements_).take();
        return std::move(dispatch_);
    }

  private:
    /// Whether a seat is free on a resource for which the host can run a version.
    bool can_use_any() const {
        for (const Resource resource : {Resource::kCpu, Resource::kNvidia}) {
            if (wanted_[resource] > 0 && choice_.is_usable(resource)) return true;
        }
        return false;
    }

    /// Sends jobs again that the client lost with a reply or when the volunteer reset the project.
    void resend_lost(const std::vector<HeldJob>& recorded) {
        if (!request_.other_results) return;
        const std::set<std::string> listed{request_.other_results->begin(),
                                           request_.other_results->end()};
        for (const HeldJob& lost : recorded) {
            if (total(wanted_) == 0) return;
            if (listed.contains(lost.name)) continue;
            const auto job = database_.query_one(
                std::string{kJobColumns} + "result" + kJobJoins + "where r.name = ?", {lost.name});
            if (!job || is_over(*job)) continue;
            const UsableVersion* const version = choose(*job, false);
            if (version != nullptr && send(*job, *version, RESULT_SERVER_STATE_IN_PROGRESS)) {
                log_info("result {} resent to host {}", lost.name, host_.id);
            }
        }
    }

    /// Among jobs of equal priority hosts begin at different ones, so that concurrent requests do
    /// not wait for each other's rows.
    void send_unsent() {
        if (total(wanted_) == 0) return;
        const Rows jobs = database_.query(
            std::string{kJobColumns} + kFirstUnsent + kJobJoins +
                "where a.deprecated = 0 and w.transitioner_flags = 0 and w.rsc_memory_bound <= ? "
                "and w.rsc_disk_bound <= ? order by r.priority desc, crc32(concat(r.id, ' ', ?))",
            {RESULT_SERVER_STATE_UNSENT, kCandidates, usable_memory(request_),
             usable_disk(request_), host_.id});
        for (const Row& job : jobs) {
            if (total(wanted_) == 0) return;
            if (is_over(job)) continue;
            const UsableVersion* const version = choose(job, true);
            if (version != nullptr && send(job, *version, RESULT_SERVER_STATE_UNSENT)) {
                quota_.count(version->version->id);
                log_info("result {} sent to host {}", job.text("name"), host_.id);
            }
        }
    }

    static bool is_over(const Row& job) {
        return job.integer("error_mask") != 0 || job.integer("canonical_resultid") != 0;
    }

    bool fits(const Row& job, const UsableVersion& usable) const {
        if (job.real("rsc_disk_bound") + usable.version->slot_bytes > usable_disk(request_)) {
            return false;
        }
        return usable.usage.resource != Resource::kNvidia ||
               job.real("gpu_memory") <= usable_gpu_memory(request_.nvidia);
    }

    /// The fastest version for a job among the resources with free seats; nullptr if none fits.
    const UsableVersion* choose(const Row& job, bool obeys_quota) {
        const UsableVersion* fastest = nullptr;
        for (const Resource resource : {Resource::kCpu, Resource::kNvidia}) {
            if (wanted_[resource] == 0) continue;
            const UsableVersion* const usable = choice_.best(job.integer("appid"), resource);
            if (usable == nullptr || !fits(job, *usable)) continue;
            if (obeys_quota && !quota_.allows(usable->version->id, seats_[resource])) continue;
            if (fastest == nullptr || usable->usage.flops > fastest->usage.flops) fastest = usable;
        }
        return fastest;
    }

    /// False if another request took the row first.
    bool send(const Row& job, const UsableVersion& usable, int expected_state) {
        const PublishedVersion& version = *usable.version;
        const std::int64_t deadline = now_ + job.integer("delay_bound");
        const auto marked = database_.execute(
            "update result set server_state = ?, hostid = ?, userid = ?, teamid = ?, "
            "sent_time = ?, report_deadline = ?, app_version_id = ?, app_version_num = ?, "
            "flops_estimate = ? where id = ? and server_state = ?",
            {RESULT_SERVER_STATE_IN_PROGRESS, host_.id, account_.id, account_.team_id, now_,
             deadline, version.id, version.number, usable.usage.flops, job.integer("id"),
             expected_state});
        if (marked == 0) return false;
        database_.execute(
            "update workunit set transition_time = least(transition_time, ?) where id = ?",
            {deadline, job.integer("workunitid")});
        quota_.add(version.id);
        write(job, usable, deadline);
        --wanted_[usable.usage.resource];
        ++dispatch_.jobs;
        return true;
    }

    void write(const Row& job, const UsableVersion& usable, std::int64_t deadline) {
        const auto documents = database_.query_one(
            "select r.xml_doc_in, w.xml_doc from result r join workunit w on w.id = r.workunitid "
            "where r.id = ?",
            {job.integer("id")});
        if (announced_.insert(usable.version->id).second) {
            write_version(elements_, usable, job.real("gpu_memory"));
        }
        write_job(elements_,
                  {.name = job.text("name"),
                   .workunit = job.text("workunit_name"),
                   .fpops_est = job.real("rsc_fpops_est"),
                   .fpops_bound = job.real("rsc_fpops_bound"),
                   .memory = job.real("rsc_memory_bound"),
                   .disk = job.real("rsc_disk_bound"),
                   .workunit_document = documents->text("xml_doc"),
                   .result_document = documents->text("xml_doc_in"),
                   .deadline = deadline},
                  *usable.version);
    }

    Database& database_;
    const Account& account_;
    const Host& host_;
    const SchedulerRequest& request_;
    const std::int64_t now_;
    const JobCounts seats_;
    const VersionChoice choice_;
    DailyQuota quota_;
    JobCounts wanted_;                  ///< free seats
    std::set<std::int64_t> announced_;  ///< versions that the reply already describes
    XmlWriter elements_;
    Dispatch dispatch_;
};

}  // namespace

Dispatch dispatch_jobs(Database& database, const ProjectConfig& config, const Catalogue& catalogue,
                       const Account& account, const Host& host, const SchedulerRequest& request,
                       std::int64_t now) {
    if (total(requested(request)) == 0) return {};
    if (request.client_version() < config.min_client_version) {
        return {.messages = {fmt::format(
                    "This BOINC client is too old for this project: version {}.{}.{} or newer is "
                    "needed.",
                    config.min_client_version / 10'000, config.min_client_version / 100 % 100,
                    config.min_client_version % 100)}};
    }
    if (host.is_banned) {
        return {.messages = {"This computer gets no tasks; ask the project's administrator."}};
    }
    if (const auto ban = ban_of(database, account.id, host.id)) {
        return {.messages = {sentence_of(*ban)}};
    }
    const std::vector<HeldJob> recorded = jobs_of(database, host);
    const JobCounts wanted = wanted_jobs(config, request, held_seats(recorded, request));
    return Dispatcher{database, config, catalogue, account, host, request, now}.run(recorded,
                                                                                    wanted);
}

}  // namespace dedloc::server
