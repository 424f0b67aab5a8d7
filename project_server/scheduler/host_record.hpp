// The sender of a request, the host's row, locked, and what the database knows of the host then.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/scheduler/daily_quota.hpp"
#include "project_server/scheduler/plan_class.hpp"
#include "project_server/scheduler/request.hpp"
#include "project_server/scheduler/seats.hpp"
#include "project_server/scheduler/volunteer.hpp"

namespace dedloc::server {

struct AccountLimits;

/// What a report and a dispatch need to know of a host.
struct HostRecord {
    std::vector<HeldJob> held;  ///< its jobs in progress
    DailyQuota quota;           ///< its jobs of today
    MeasuredRates measured;     ///< what its jobs have done, by plan class
};

/// A sender whose host row is locked.
struct LockedHost {
    Caller caller;                       ///< who sends the request
    Host host;                           ///< as it was when it was locked
    std::optional<HostRecord> record{};  ///< nothing unless it was to be read
};

/// A request that changes something.
struct HostRequest {
    const SchedulerRequest& request;  ///< what the client says
    const std::string& address;       ///< the client's network address
    std::int64_t now;                 ///< Unix time, seconds
};

/// Finds the sender of a request, locks the host's row until the transaction ends (identify_host()
/// in volunteer.hpp) and, if `reads_record`, reads the record under that lock. For a host that was
/// stored a moment ago all of it is one message to the database. Nothing, and nothing is locked, if
/// no account has the authenticator.
///
/// Before  a transaction is open
/// Errors  TooManyHosts, DatabaseError
std::optional<LockedHost> lock_host(Database& database, const ProjectConfig& config,
                                    const HostRequest& request, const AccountLimits& limits,
                                    bool reads_record);

}  // namespace dedloc::server
