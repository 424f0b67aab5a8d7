// Recent average credit (RAC) rises with every grant and falls while nothing is earned. BOINC's
// columns expavg_credit hold it as of expavg_time: both are renewed when credit is granted, and
// once a day for everyone else, as BOINC's update_stats does under an official server.
#pragma once

#include <cstdint>
#include <string>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// The average of a row of user, host or team (columns expavg_credit, expavg_time) as of `now`, UTC
/// seconds, if nothing was earned since expavg_time: half of it a week later. As in BOINC, a row
/// whose expavg_time is 0 keeps its average.
double recent_credit(const Row& row, double now);

/// The same as an expression of SQL over these two columns.
std::string recent_credit_expression(double now);

/// Credit that is granted at one moment.
struct CreditGrant {
    double credit = 0;   ///< cobblestones
    double started = 0;  ///< when the work for it began, UTC seconds; before `now`
    double now = 0;      ///< UTC seconds
};

/// The average of a row (columns as above) after a grant, as of its moment. As in BOINC, the first
/// grant's average is credit ÷ time since its work began; a later one counts as earned evenly
/// since expavg_time.
double recent_credit_after(const Row& row, const CreditGrant& grant);

/// Renews the averages that are older than a day in user, host and team, two hundred rows at a
/// time; those below 0.01 become 0. Under an official BOINC server that is update_stats' task: do
/// not call it there. `now`: UTC seconds. Returns the number of rows. Errors: DatabaseError; it may
/// be repeated then.
/// Cost: reads the rows with a positive average through the index of expavg_credit.
std::uint64_t decay_recent_credit(Database& database, double now);

}  // namespace dedloc::server
