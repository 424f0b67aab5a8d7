// The scheduler RPC of BOINC's protocol: one request text in, one reply text out.
#pragma once

#include <string>
#include <string_view>

#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/scheduler/account_limits.hpp"
#include "project_server/scheduler/catalogue.hpp"
#include "project_server/scheduler/ready_jobs.hpp"
#include "project_server/scheduler/request.hpp"
#include "project_server/scheduler/volunteer.hpp"
#include "project_server/xml/xml_writer.hpp"

namespace dedloc::server {

/// Answers the scheduler requests of a project.
class Scheduler {
  public:
    /// Reads the account limits. `config` must outlive the scheduler. Errors: IoError, InputError
    /// (also if there is no public key that signs app versions).
    explicit Scheduler(const ProjectConfig& config);

    /// Serves one request: host row, reports, messages, jobs, all in one transaction. If nothing is
    /// reported or wanted and the host was stored in the last kHostRefresh seconds, it only reads.
    /// The reply to an invalid request or an unknown account says so. `address` is the client's
    /// network address, `now` the Unix time in seconds.
    ///
    /// Thread  any, each with its own `database`
    /// Errors  DatabaseError: nothing was stored, the client may retry
    std::string serve(Database& database, std::string_view request, const std::string& address,
                      double now) const;

  private:
    /// Serves a request that changes something.
    std::string serve_changes(Database& database, const SignedCatalogue& catalogue,
                              const SchedulerRequest& request, const std::string& address,
                              std::int64_t now) const;
    /// The same, and without texts that the database refuses.
    std::string serve_storable(Database& database, const SignedCatalogue& catalogue,
                               const SchedulerRequest& request, const std::string& address,
                               std::int64_t now) const;
    /// The reply to a request that cannot be read or whose sender is unknown.
    std::string refuse(const std::string& address, const char* reason,
                       std::string_view notice) const;
    /// The beginning of a reply, up to what the request changes.
    XmlWriter describe(Database& database, const SignedCatalogue& catalogue,
                       const SchedulerRequest& request, const Account& account,
                       const Host& host) const;

    const ProjectConfig& config_;
    const AccountLimits limits_;
    CatalogueCache catalogue_;
    mutable ReadyJobs ready_jobs_;
};

}  // namespace dedloc::server
