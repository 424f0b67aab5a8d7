// What programs read of the project's lists: its app versions, its jobs, its news.
#pragma once

#include <string>

#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"

namespace dedloc::server {

/// apps.php?xml=1 of BOINC's servers: the newest version of each app for each platform and plan
/// class. Errors: DatabaseError.
std::string versions_xml(Database& database);

/// The platforms of the app versions, as get_project_config.php of BOINC's servers lists them.
/// Errors: DatabaseError.
std::string platforms_xml(Database& database);

/// server_status.php?counts=1 of BOINC's servers, which programs that submit jobs read. Errors:
/// DatabaseError.
std::string job_counts_xml(Database& database);

/// The newest `count` items of the project's news as RSS 2.0, as rss_main.php of BOINC's servers.
/// Errors: DatabaseError.
std::string news_feed(Database& database, const ProjectConfig& config, int count);

}  // namespace dedloc::server
