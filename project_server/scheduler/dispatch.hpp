// Which jobs a host gets, and the elements of a reply that describe them.
#pragma once

#include <cstdint>
#include <string>

#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/scheduler/request.hpp"
#include "project_server/scheduler/volunteer.hpp"

namespace dedloc::server {

struct Dispatch {
    int jobs = 0;
    std::string elements{};  ///< app, files, app_version, files, workunit, files, result — in the
                             ///< order clients need
    std::string message{};   ///< why there are none, for the volunteer; empty if there are, or none
                             ///< were wanted
};

/// Jobs for idle cores: at most config.jobs_per_core a core in all, and never more than the request
/// asks for. First those that the host has by our books but not by its own, then unsent ones by
/// priority. They are marked as sent. Before  a transaction is open and the host row locked.
Dispatch dispatch_jobs(Database& database, const ProjectConfig& config, const Account& account,
                       const Host& host, const SchedulerRequest& request, std::int64_t now);

}  // namespace dedloc::server
