// dispatch_jobs() first refuses clients that are too old, and then banned hosts and accounts. A
// Dispatcher then resends lost jobs, sends jobs to train and, if the host trains nothing, jobs that
// only average, whose seat is put aside until then. mark() is a compare-and-set: its two deferred
// updates travel with the statement of the quota, which tells whether the row was in the expected
// state. The reply describes a job only after that, so of two requests one gets it.
#include "project_server/scheduler/dispatch.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "peer/base/log.hpp"
#include "project_server/database/revocations.hpp"
#include "project_server/database/states.hpp"
#include "project_server/scheduler/job_elements.hpp"
#include "project_server/scheduler/no_work.hpp"
#include "project_server/scheduler/version_choice.hpp"

namespace dedloc::server {
namespace {

constexpr const char* kTooManyWithoutCredit =
    "This account's computers that have no credit yet have as many tasks as they may: this one "
    "gets "
    "tasks when others of them have credit.";

/// Serves one request that wants jobs; collects the elements of the reply.
class Dispatcher {
  public:
    Dispatcher(Database& database, const ProjectConfig& config, const Catalogue& catalogue,
               const Applicant& applicant, ReadyJobs::Taking& ready, std::int64_t now)
        : database_(database),
          account_(applicant.account),
          host_(applicant.host),
          request_(applicant.request),
          held_(applicant.record.held),
          ready_(ready),
          now_(now),
          seats_(seats_of(config, request_)),
          choice_(catalogue, request_,
                  parse_project_preferences(account_.project_preferences, host_.venue),
                  applicant.record.measured),
          quota_(applicant.record.quota),
          jobs_left_(applicant.jobs_left),
          taken_(held_seats(held_, request_)),
          wanted_(wanted_jobs(config, request_, taken_)),
          trains_(taken_[Resource::kCpu] + taken_[Resource::kNvidia] > 0) {}

    Dispatch run() && {
        if (can_use_any()) {
            resend_lost();
            const int beside = std::exchange(wanted_[Resource::kBeside], 0);
            send_unsent();
            if (!trains_ && choice_.is_usable(Resource::kBeside)) {
                wanted_[Resource::kBeside] = beside;
                send_unsent();
            }
        }
        if (dispatch_.jobs == 0 && jobs_left_ == 0 && can_use_any()) {
            dispatch_.messages = {kTooManyWithoutCredit};
        } else if (dispatch_.jobs == 0) {
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
        for (const Resource resource : kResources) {
            if (wanted_[resource] > 0 && choice_.is_usable(resource)) return true;
        }
        return false;
    }

    /// Sends jobs again that the client lost with a reply or when the volunteer reset the project.
    void resend_lost() {
        if (!request_.other_results) return;
        const std::set<std::string> listed{request_.other_results->begin(),
                                           request_.other_results->end()};
        for (const HeldJob& lost : held_) {
            if (total(wanted_) == 0) return;
            if (listed.contains(lost.name)) continue;
            const auto job = find_job(database_, lost.name);
            if (!job) continue;
            const UsableVersion* const version = choose(*job, false);
            if (version == nullptr) continue;
            mark(*job, *version, ServerState::kInProgress);
            if (!quota_.add(version->version->id)) continue;
            write(*job, *version);
            log_info("result {} resent to host {}", lost.name, host_.id);
        }
    }

    void send_unsent() {
        const auto fits = [&](const Job& job) { return choose(job, true) != nullptr; };
        for (std::int64_t left = jobs_left_; left > 0 && total(wanted_) > 0; --left) {
            const auto job = ready_.take(database_, fits);
            if (!job) return;
            const UsableVersion* const version = choose(*job, true);
            mark(*job, *version, ServerState::kUnsent);
            // Nothing is written to the database after the last job.
            const bool is_last = left == 1 || total(wanted_) == 1;
            if (!quota_.count(version->version->id, is_last)) continue;
            write(*job, *version);
            log_info("result {} sent to host {}", job->name, host_.id);
        }
    }

    bool fits(const Job& job, const UsableVersion& usable) const {
        if (job.memory > usable_memory(request_) ||
            job.disk + usable.version->slot_bytes > usable_disk(request_)) {
            return false;
        }
        return usable.usage.resource != Resource::kNvidia ||
               job.gpu_memory <= usable_gpu_memory(request_.nvidia);
    }

    /// The fastest version for a job among the resources with free seats; nullptr if none fits.
    const UsableVersion* choose(const Job& job, bool obeys_quota) {
        const UsableVersion* fastest = nullptr;
        for (const Resource resource : kResources) {
            if (wanted_[resource] == 0) continue;
            const UsableVersion* const usable = choice_.best(job.app, resource);
            if (usable == nullptr || !fits(job, *usable)) continue;
            if (obeys_quota && !quota_.allows(usable->version->id, seats_[resource])) continue;
            if (fastest == nullptr || usable->usage.flops > fastest->usage.flops) fastest = usable;
        }
        return fastest;
    }

    std::int64_t deadline_of(const Job& job) const { return now_ + job.delay_bound; }

    /// Marks a job as sent. The last statement matches no row if the job is in another state now,
    /// or if its workunit has ended, which it knows from the row count of the first. The workunit
    /// is written before its result, in the order in which the transitioner locks them.
    void mark(const Job& job, const UsableVersion& usable, ServerState expected_state) {
        const PublishedVersion& version = *usable.version;
        const std::int64_t deadline = deadline_of(job);
        database_.defer(
            "update workunit set transition_time = least(transition_time, ?), mod_time = mod_time "
            "where id = ? and error_mask = 0 and canonical_resultid = 0",
            {deadline, job.workunit});
        database_.defer(
            "update result use index (primary) set server_state = ?, hostid = ?, userid = ?, "
            "teamid = ?, sent_time = ?, report_deadline = ?, app_version_id = ?, "
            "app_version_num = ?, flops_estimate = ? where id = ? and server_state = ? and "
            "row_count() > 0",
            {ServerState::kInProgress, host_.id, account_.id, account_.team_id, now_, deadline,
             version.id, version.number, usable.usage.flops, job.id, expected_state});
    }

    /// Adds a job that is marked to the reply.
    void write(const Job& job, const UsableVersion& usable) {
        const PublishedVersion& version = *usable.version;
        if (announced_.insert(version.id).second) {
            write_version(elements_, usable, job.gpu_memory);
        }
        write_job(elements_, job, deadline_of(job), version);
        --wanted_[usable.usage.resource];
        trains_ = trains_ || usable.usage.resource != Resource::kBeside;
        ++dispatch_.jobs;
    }

    Database& database_;
    const Account& account_;
    const Host& host_;
    const SchedulerRequest& request_;
    const std::vector<HeldJob>& held_;
    ReadyJobs::Taking& ready_;
    const std::int64_t now_;
    const JobCounts seats_;
    const VersionChoice choice_;
    DailyQuota& quota_;
    const std::int64_t jobs_left_;      ///< new ones
    const JobCounts taken_;             ///< seats that are not free
    JobCounts wanted_;                  ///< free seats
    bool trains_;                       ///< has a job to train, or gets one
    std::set<std::int64_t> announced_;  ///< versions that the reply already describes
    XmlWriter elements_;
    Dispatch dispatch_;
};

}  // namespace

Dispatch dispatch_jobs(Database& database, const ProjectConfig& config, const Catalogue& catalogue,
                       const Applicant& applicant, ReadyJobs::Taking& ready, std::int64_t now) {
    if (applicant.request.client_version() < config.min_client_version) {
        return {.messages = {fmt::format(
                    "This BOINC client is too old for this project: version {}.{}.{} or newer is "
                    "needed.",
                    config.min_client_version / 10'000, config.min_client_version / 100 % 100,
                    config.min_client_version % 100)}};
    }
    if (applicant.host.is_banned) {
        return {.messages = {"This computer gets no tasks; ask the project's administrator."}};
    }
    if (applicant.may_be_banned) {
        const auto ban = ban_of(database, applicant.account.id, applicant.host.id);
        if (ban) return {.messages = {sentence_of(*ban)}};
    }
    return Dispatcher{database, config, catalogue, applicant, ready, now}.run();
}

}  // namespace dedloc::server
