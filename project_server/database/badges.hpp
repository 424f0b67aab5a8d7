// Badges for credit, by the rules in the table dedloc_badge_rule, in BOINC's tables badge,
// badge_user and badge_team.
#pragma once

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Gives each user and team the badges that the rules say, and takes back those that no longer
/// hold. Of the rules by recent credit (the best N percent of those who have some) only the best
/// counts; rules by total credit are each counted. In one transaction. `now`: UTC seconds. Errors:
/// DatabaseError. Cost: two statements a rule over an index of credit.
void assign_badges(Database& database, double now);

}  // namespace dedloc::server
