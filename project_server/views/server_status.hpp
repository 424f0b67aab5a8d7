// The state of the project's server: daemons, jobs, users and computers.
#pragma once

#include <cstdint>
#include <string>

#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::server {

/// Bytes on the disk of the tables, as the database server knows them. Errors: DatabaseError.
std::int64_t database_bytes(Database& database);

/// {update_time, daemons, jobs, users, computers, apps, versions}: daemons as {name, is_running}
/// from the project's pids/; versions as {name, version, platform, plan_class, bill}; the counts
/// have the names of BOINC's server_status.php. `now`: UTC seconds. Errors: DatabaseError.
/// Cost: counts over indices of result, workunit, user and host.
json::Value status_data(Database& database, const ProjectConfig& config, double now);

/// The same as the XML of server_status.php?xml=1 of BOINC's servers, which sites of statistics
/// read. `host` is the host part of the master URL.
std::string status_xml(const json::Value& status, const std::string& host);

}  // namespace dedloc::server
