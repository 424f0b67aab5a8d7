// How many jobs a host may have at a time: one on its processors, whatever their number, one on
// each GPU, and one beside them, which only averages. A job is a seat in a swarm, and more than one
// on the same processors would only make each of them slower.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/scheduler/plan_class.hpp"
#include "project_server/scheduler/request.hpp"
#include "project_server/scheduler/volunteer.hpp"

namespace dedloc::server {

/// A number of jobs for each resource.
using JobCounts = PerResource<int>;
/// The sum over all resources.
int total(const JobCounts& counts);

/// A job that the database says a host has.
struct HeldJob {
    std::int64_t id = 0;                 ///< key of its row in `result`
    std::int64_t workunit = 0;           ///< key of its row in `workunit`
    std::int64_t app_version = 0;        ///< key of the row of the version it was sent with
    std::string name;                    ///< name of the result
    Resource resource = Resource::kCpu;  ///< that of the plan class with which it was sent
};

/// Adds the statement that selects the jobs in progress on a host.
void add_held_jobs(Batch& batch, std::int64_t host);
/// The jobs in its answer.
std::vector<HeldJob> held_jobs(const Rows& rows);

/// The jobs among `recorded` that fill seats: those that the client has as well, if it lists its
/// jobs, since others are resent. A client that does not list them is believed to have all.
JobCounts held_seats(const std::vector<HeldJob>& recorded, const SchedulerRequest& request);

/// The seats of a host, free or not.
JobCounts seats_of(const ProjectConfig& config, const SchedulerRequest& request);

/// Whether the client requests work for each resource: seconds, or idle processors or GPUs. Clients
/// have no words for a job beside others: one that requests work for its processors takes any.
JobCounts requested(const SchedulerRequest& request);

/// Number of jobs that the host may get now for each resource. A client that asks only for seconds
/// of work gets a first job, and no more while it has one.
JobCounts wanted_jobs(const ProjectConfig& config, const SchedulerRequest& request,
                      const JobCounts& held);

}  // namespace dedloc::server
