#include "project_server/scheduler/no_work.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "peer/formats/task.hpp"
#include "project_server/database/states.hpp"

namespace dedloc::server {
namespace {

constexpr double kMegabyte = 1e6;
constexpr int kLookedAt = 100;  // unsent jobs that are compared with the host

const char* name_of(Resource resource) {
    return resource == Resource::kNvidia ? "NVIDIA GPUs" : "processors";
}

/// Why a requested resource cannot be used at all; empty if it can.
std::string reason_of(const NoWork& none, Resource resource) {
    if (!none.choice.is_offered(resource)) {
        return fmt::format(
            "This project has no application that uses {} on {}.", name_of(resource),
            none.request.platforms.empty() ? "this computer" : none.request.platforms.front());
    }
    if (!none.choice.is_usable(resource)) return none.choice.refusal(resource);
    if (none.wanted[resource] > 0) return {};
    return resource == Resource::kNvidia
               ? "Each GPU of this computer has its task already: a task is a seat in the swarm."
               : "The processors of this computer have their task already: one task uses all of "
                 "them.";
}

/// Compares the host with what the unsent jobs that train need at least.
std::string lack_of(const NoWork& none, const Row& needs) {
    const auto too_small = [](const char* what, double needed, double has) {
        return fmt::format(
            "Tasks need {:.0f} MB of {}; this computer has {:.0f} MB that BOINC may "
            "use.",
            needed / kMegabyte, what, has / kMegabyte);
    };
    if (needs.integer("unsent") == 0) return "No tasks are available now.";
    if (needs.real("memory") > none.memory) {
        return too_small("memory", needs.real("memory"), none.memory);
    }
    const double disk = needs.real("disk") + none.choice.min_slot_bytes();
    if (disk > none.disk) return too_small("disk", disk, none.disk);
    const double gpu = usable_gpu_memory(none.request.nvidia);
    if (none.wanted[Resource::kNvidia] > 0 &&
        needs.real("gpu_memory") >= formats::kMoreThanAnyGpu) {
        return "The models of this project are trained on processors only.";
    }
    if (none.wanted[Resource::kNvidia] > 0 && needs.real("gpu_memory") > gpu) {
        return fmt::format(
            "The models of this project need {:.0f} MB of GPU memory; {} has {:.0f} MB free.",
            needs.real("gpu_memory") / kMegabyte, none.request.nvidia.name, gpu / kMegabyte);
    }
    return "No tasks are available for this computer now.";
}

}  // namespace

double usable_memory(const SchedulerRequest& request) {
    return request.host.memory_bytes * request.preferences.ram_fraction();
}

double usable_disk(const SchedulerRequest& request) {
    const HostReport& host = request.host;
    return host.disk_share_of_project > 0 ? host.disk_share_of_project : host.disk_free;
}

std::vector<std::string> reasons_for_none(Database& database, const NoWork& none) {
    std::vector<std::string> reasons;
    const JobCounts wants = requested(none.request);
    bool could_have = false;
    for (const Resource resource : {Resource::kNvidia, Resource::kCpu}) {
        if (wants[resource] == 0) continue;
        std::string reason = reason_of(none, resource);
        if (reason.empty()) {
            could_have = true;
        } else {
            reasons.push_back(std::move(reason));
        }
    }
    if (!could_have) return reasons;
    if (const auto limit = none.spent_quota) {
        reasons.push_back(fmt::format(
            "This computer has had the {} {} that it may get today. Tasks that fail lower this "
            "number, and tasks that succeed raise it again.",
            *limit, *limit == 1 ? "task" : "tasks"));
        return reasons;
    }
    const auto needs = database.query_one(
        "select straight_join count(*) as unsent, coalesce(min(w.rsc_memory_bound), 0) as memory, "
        "coalesce(min(w.rsc_disk_bound), 0) as disk, coalesce(min(d.gpu_memory), 0) as gpu_memory "
        "from (select workunitid from result where server_state = ? limit ?) r "
        "join workunit w on w.id = r.workunitid join app a on a.id = w.appid and "
        "a.non_cpu_intensive = 0 left join dedloc_run d on d.id = w.opaque",
        {ServerState::kUnsent, kLookedAt});
    reasons.push_back(lack_of(none, *needs));
    return reasons;
}

}  // namespace dedloc::server
