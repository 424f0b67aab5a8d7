// The catalogue has the newest versions first, so the first version of each app and plan class that
// fits a platform is the one considered, in the client's order of platforms. GPU versions come
// first: a usable one takes a core for each GPU from the processors. consider() tests preferences,
// client and kernel, then the plan class, and keeps the fastest version of each app. The first
// refusal of a resource is kept, and is cleared at the end if another version is usable.
#include "project_server/scheduler/version_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace dedloc::server {
namespace {

std::string version_text(std::int64_t version) {
    return fmt::format("{}.{}.{}", version / 10'000, version / 100 % 100, version % 100);
}

/// The newest version of each app and plan class; on equal numbers that for the platform which the
/// client names first.
std::vector<const PublishedVersion*> newest_versions(const Catalogue& catalogue,
                                                     const std::vector<std::string>& platforms) {
    std::vector<const PublishedVersion*> found;
    std::set<std::pair<std::int64_t, std::string_view>> seen;
    for (const std::string& platform : platforms) {
        for (const PublishedVersion& version : catalogue) {
            if (version.platform != platform) continue;
            if (seen.emplace(version.app_id, version.plan_class).second) found.push_back(&version);
        }
    }
    // GPU versions first: they decide how many cores remain for a job on the processors.
    std::stable_partition(found.begin(), found.end(), [](const PublishedVersion* version) {
        return resource_of(version->plan_class) == Resource::kNvidia;
    });
    return found;
}

}  // namespace

VersionChoice::VersionChoice(const Catalogue& catalogue, const SchedulerRequest& request,
                             const ProjectPreferences& preferences, const MeasuredRates& measured)
    : machine_(machine_of(request, preferences.max_cpus, measured)) {
    for (const PublishedVersion* version : newest_versions(catalogue, request.platforms)) {
        consider(*version, request, preferences);
    }
    for (const Resource resource : kResources) {
        if (is_usable(resource)) refusals_[resource].clear();
    }
}

const UsableVersion* VersionChoice::best(std::int64_t app, Resource resource) const {
    const auto& versions = best_[resource];
    const auto found = versions.find(app);
    return found == versions.end() ? nullptr : &found->second;
}

bool VersionChoice::is_usable(Resource resource) const {
    return !best_[resource].empty();
}

double VersionChoice::min_slot_bytes() const {
    std::optional<double> smallest;
    for (const Resource resource : {Resource::kCpu, Resource::kNvidia}) {
        for (const auto& [app, usable] : best_[resource]) {
            smallest =
                std::min(smallest.value_or(usable.version->slot_bytes), usable.version->slot_bytes);
        }
    }
    return smallest.value_or(0);
}

std::string VersionChoice::check(const PublishedVersion& version, const SchedulerRequest& request,
                                 const ProjectPreferences& preferences) const {
    const bool is_gpu = resource_of(version.plan_class) == Resource::kNvidia;
    if (is_gpu ? !preferences.allows_nvidia : !preferences.allows_cpu) {
        return fmt::format("Your preferences for this project do not allow tasks on the {}.",
                           is_gpu ? "NVIDIA GPU" : "processor");
    }
    const int client = request.client_version();
    if (version.min_client > 0 && client < version.min_client) {
        return fmt::format("This BOINC client is too old for {}: version {} or newer is needed.",
                           version.friendly_name, version_text(version.min_client));
    }
    if (version.max_client > 0 && client > version.max_client) {
        return fmt::format("{} does not run under BOINC clients newer than {}.",
                           version.friendly_name, version_text(version.max_client));
    }
    const auto kernel = kernel_of_host(request.host.os_version);
    if (kernel && version.kernel && *kernel < *version.kernel) {
        return fmt::format(
            "The operating system of this computer is too old for {}: its kernel is Linux {}, and "
            "{} or newer is needed.",
            version.friendly_name, kernel->text(), version.kernel->text());
    }
    return {};
}

void VersionChoice::consider(const PublishedVersion& version, const SchedulerRequest& request,
                             const ProjectPreferences& preferences) {
    const Resource resource = resource_of(version.plan_class);
    offered_[resource] = true;
    std::string refusal = check(version, request, preferences);
    Fit fit;
    if (refusal.empty()) {
        fit = fit_plan_class(version.plan_class, machine_, gpus_used_);
        refusal = std::move(fit.refusal);
    }
    if (!fit.usage) {
        if (refusals_[resource].empty()) refusals_[resource] = std::move(refusal);
        return;
    }
    if (resource == Resource::kNvidia) gpus_used_ = machine_.nvidia.count;
    const UsableVersion usable{.version = &version, .usage = *fit.usage};
    const auto [entry, is_new] = best_[resource].try_emplace(version.app_id, usable);
    if (!is_new && usable.usage.flops > entry->second.usage.flops) entry->second = usable;
}

}  // namespace dedloc::server
