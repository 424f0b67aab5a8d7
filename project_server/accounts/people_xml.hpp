// What BOINC's servers tell sites of statistics and account managers about users and teams:
// show_user.php?format=xml, team_lookup.php and team_email_list.php?xml=1. Each function returns
// the whole reply: the elements that BOINC's code writes, in its order, or <error> with BOINC's
// number. None contains an e-mail address. Errors: DatabaseError.
#pragma once

#include <cstdint>
#include <string>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// The user with an id, or that of an account key together with all computers.
std::string user_xml(Database& database, std::int64_t user);
std::string user_xml_by_key(Database& database, const std::string& key);

/// Teams that one reply names.
inline constexpr int kMaxTeamsFound = 100;

/// One team.
std::string team_xml(Database& database, std::int64_t team);
/// The teams of a list of ids that is separated by commas. Ids without a team are left out.
std::string teams_xml(Database& database, const std::string& ids);
/// The teams whose name contains `name`, ignoring case and accents, by recent credit.
std::string teams_named_xml(Database& database, const std::string& name);

/// Members that one reply names: those with the most credit.
inline constexpr int kMaxMembersListed = 5'000;

/// The members of a team; if `only_credit`, id and credit of those that have any.
std::string team_members_xml(Database& database, std::int64_t team, bool only_credit);

}  // namespace dedloc::server
