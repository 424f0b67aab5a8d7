// BOINC's requests of account managers and statistics sites: am_get_info.php, am_set_info.php,
// am_set_host_info.php, show_user.php?format=xml. An account key authorises them. Each function
// returns the reply's XML, <error> with BOINC's number if it refuses. Errors: DatabaseError,
// TooBusyError.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// A parameter of the request; absent if it was not sent.
using RequestParameter = std::function<std::optional<std::string>(const char* name)>;

/// The account of a key: name, country, preferences, team, ...; names URL-encoded as BOINC does.
std::string account_info(Database& database, const std::string& key);

/// Changes what the parameters name: name, country, url, send_email, show_hosts, venue, teamid,
/// global_prefs, project_prefs; email_addr only with the password_hash that belongs to it, and
/// password_hash alone too. Preferences keep only flat elements without markup, because the
/// scheduler sends them to clients as they are. `now`: UTC seconds.
std::string set_account_info(Database& database, const std::string& key,
                             const RequestParameter& parameter, double now);

/// Sets the venue (home, work, school or none) of a computer of the account.
std::string set_host_venue(Database& database, const std::string& key, std::int64_t host,
                           const std::string& venue);

/// The user with an id, or that of a key together with all computers.
std::string user_xml(Database& database, std::int64_t user);
std::string user_xml_by_key(Database& database, const std::string& key);

}  // namespace dedloc::server
