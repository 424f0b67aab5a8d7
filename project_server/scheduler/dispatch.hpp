// Chooses the jobs that a host gets and writes the elements of the reply that describe them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/scheduler/catalogue.hpp"
#include "project_server/scheduler/host_record.hpp"
#include "project_server/scheduler/ready_jobs.hpp"
#include "project_server/scheduler/request.hpp"
#include "project_server/scheduler/seats.hpp"
#include "project_server/scheduler/volunteer.hpp"

namespace dedloc::server {

/// Jobs for one request.
struct Dispatch {
    int jobs = 0;  ///< number of jobs sent
    /// Elements app, file_info, app_version, file_info, workunit, file_info, result, in the order
    /// that clients need.
    std::string elements{};
    /// For the volunteer: why there are no jobs. Empty if there are, or if none were requested.
    std::vector<std::string> messages{};
};

/// The host that wants jobs, and what it has.
struct Applicant {
    const Account& account;           ///< that the host belongs to
    const Host& host;                 ///< whose row is locked
    const SchedulerRequest& request;  ///< what its client says
    bool may_be_banned;               ///< false: ban_of() has no ban of it or its account
    HostRecord& record;               ///< its jobs in progress and its quota
    std::int64_t jobs_left;           ///< new jobs that the account may get for it now
};

/// Chooses jobs for the free seats of a host (seats.hpp), for each job the version with the highest
/// projected FLOP/s among the resources for which the client requests work. First jobs that the
/// database says the host has but the client does not have, then those of `ready`, at most the
/// host's daily quota of each app version (a day begins at 0:00 UTC). Marks them as sent. Revoked
/// and banned hosts get none.
///
/// A job that only averages goes to a host that trains nothing and gets no job to train: a trainer
/// averages as well, with the same links.
///
/// Before  a transaction is open and the host row is locked
Dispatch dispatch_jobs(Database& database, const ProjectConfig& config, const Catalogue& catalogue,
                       const Applicant& applicant, ReadyJobs::Taking& ready, std::int64_t now);

}  // namespace dedloc::server
