// The versions of each app that a host can run, and the best of them for each resource.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "project_server/scheduler/catalogue.hpp"
#include "project_server/scheduler/plan_class.hpp"
#include "project_server/scheduler/preferences.hpp"

namespace dedloc::server {

/// A version that the host can run.
struct UsableVersion {
    const PublishedVersion* version = nullptr;  ///< points into the catalogue
    Usage usage;                                ///< what one job takes
};

/// Chooses the version of an app by resource: of each plan class the newest version for the
/// client's platforms, of those the one with the highest projected FLOP/s. A pure function of its
/// arguments.
class VersionChoice {
  public:
    /// `catalogue` must outlive it. `measured`: what the host's jobs have done.
    VersionChoice(const Catalogue& catalogue, const SchedulerRequest& request,
                  const ProjectPreferences& preferences, const MeasuredRates& measured);

    /// The best version of an app on a resource; nullptr if there is none.
    const UsableVersion* best(std::int64_t app, Resource resource) const;
    /// Whether the project has any version for a resource and the client's platforms.
    bool is_offered(Resource resource) const { return offered_[resource]; }
    /// Whether this host can run one.
    bool is_usable(Resource resource) const;
    /// Why not, in one sentence; empty if it can, or if the project has none.
    const std::string& refusal(Resource resource) const { return refusals_[resource]; }
    /// The smallest size of the files that a usable version that trains has in the slot, in bytes;
    /// 0 without one.
    double min_slot_bytes() const;

  private:
    /// Empty if the preferences and the client's version allow `version`.
    std::string check(const PublishedVersion& version, const SchedulerRequest& request,
                      const ProjectPreferences& preferences) const;
    void consider(const PublishedVersion& version, const SchedulerRequest& request,
                  const ProjectPreferences& preferences);

    const Machine machine_;
    std::int64_t gpus_used_ = 0;
    PerResource<std::map<std::int64_t, UsableVersion>> best_;  ///< the fastest of each app
    PerResource<bool> offered_;
    PerResource<std::string> refusals_;
};

}  // namespace dedloc::server
