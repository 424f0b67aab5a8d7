// BOINC's requests of account managers: am_get_info.php, am_set_info.php, am_set_host_info.php. The
// account key authorises them, the weak account key does not. Each function returns the reply's
// XML, <error> with BOINC's number if it refuses. Errors: DatabaseError.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// A parameter of the request; absent if it was not sent.
using RequestParameter = std::function<std::optional<std::string>(const char* name)>;

/// What replies in XML begin with.
inline constexpr const char* kXmlHeader = "<?xml version=\"1.0\" encoding=\"UTF-8\" ?>\n";
/// A reply that refuses: BOINC's error number and a sentence.
std::string manager_error(int number, std::string_view sentence);

/// The row of the account with this key; nothing for a weak account key.
std::optional<Row> account_of(Database& database, const std::string& key);

/// The account of a key: name, weak account key, country, preferences, team, ...; texts
/// URL-encoded as BOINC does.
std::string account_info(Database& database, const std::string& key);

/// Changes what the parameters name: name, country, url, send_email, show_hosts, venue, teamid,
/// global_prefs, project_prefs; email_addr only with the password_hash that belongs to it, and
/// password_hash alone too. Preferences keep only flat elements without markup, because the
/// scheduler sends them to clients as they are. `now`: UTC seconds.
std::string set_account_info(Database& database, const std::string& key,
                             const RequestParameter& parameter, double now);

/// The account joins the team that a client names while it creates an account. Nothing happens if
/// there is no such team or it takes no new members, as on BOINC's servers.
void join_named_team(Database& database, std::int64_t user, const std::string& team);

/// Sets the venue (home, work, school or none) of a computer of the account.
std::string set_host_venue(Database& database, const std::string& key, std::int64_t host,
                           const std::string& venue);

}  // namespace dedloc::server
