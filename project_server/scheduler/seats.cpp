#include "project_server/scheduler/seats.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "project_server/database/states.hpp"

namespace dedloc::server {
namespace {

/// A number of idle processors or GPUs, rounded up; `limit` is the number that the host has.
int idle_instances(double reported, std::int64_t limit) {
    return static_cast<int>(std::ceil(std::clamp(reported, 0.0, static_cast<double>(limit))));
}

}  // namespace

int total(const JobCounts& counts) {
    int sum = 0;
    for (const int value : counts.values) sum += value;
    return sum;
}

void add_held_jobs(Batch& batch, std::int64_t host) {
    batch.add(
        "select r.id, r.workunitid, r.app_version_id, r.name, v.plan_class from "
        "result r use index (res_hostid_id) left join app_version v on v.id = r.app_version_id "
        "where r.hostid = ? and r.server_state = ?",
        {host, ServerState::kInProgress});
}

std::vector<HeldJob> held_jobs(const Rows& rows) {
    std::vector<HeldJob> jobs;
    for (const Row& row : rows) {
        jobs.push_back({.id = row.integer("id"),
                        .workunit = row.integer("workunitid"),
                        .app_version = row.integer("app_version_id"),
                        .name = row.text("name"),
                        .resource = resource_of(row.text("plan_class"))});
    }
    return jobs;
}

JobCounts held_seats(const std::vector<HeldJob>& recorded, const SchedulerRequest& request) {
    std::set<std::string_view> listed;
    if (request.other_results) {
        listed.insert(request.other_results->begin(), request.other_results->end());
    }
    JobCounts held;
    for (const HeldJob& job : recorded) {
        if (!request.other_results || listed.contains(job.name)) ++held[job.resource];
    }
    return held;
}

JobCounts seats_of(const ProjectConfig& config, const SchedulerRequest& request) {
    JobCounts seats;
    seats[Resource::kCpu] = config.cpu_seats;
    seats[Resource::kNvidia] = config.seats_per_gpu * static_cast<int>(request.nvidia.count);
    seats[Resource::kBeside] = 1;
    return seats;
}

JobCounts requested(const SchedulerRequest& request) {
    JobCounts wants;
    wants[Resource::kCpu] = request.wanted_cpu_seconds > 0 || request.idle_cores > 0;
    wants[Resource::kNvidia] = request.nvidia.wanted_seconds > 0 || request.nvidia.idle > 0;
    wants[Resource::kBeside] = wants[Resource::kCpu];
    return wants;
}

JobCounts wanted_jobs(const ProjectConfig& config, const SchedulerRequest& request,
                      const JobCounts& held) {
    const JobCounts seats = seats_of(config, request);
    const JobCounts wants = requested(request);
    JobCounts idle;
    idle[Resource::kCpu] = idle_instances(request.idle_cores, request.host.cores);
    idle[Resource::kNvidia] = idle_instances(request.nvidia.idle, request.nvidia.count);
    JobCounts jobs;
    for (const Resource resource : kResources) {
        if (wants[resource] == 0) continue;
        const int asked = idle[resource] > 0 ? idle[resource] : (held[resource] == 0 ? 1 : 0);
        jobs[resource] = std::clamp(seats[resource] - held[resource], 0, asked);
    }
    return jobs;
}

}  // namespace dedloc::server
