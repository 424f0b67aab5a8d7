// Numbers of rows that pages, feeds and metrics show, each counted in one way.
#pragma once

#include <cstdint>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// A number of rows.
enum class Figure : std::uint8_t {
    kResultsReadyToSend,      ///< results that no volunteer has had
    kResultsInProgress,       ///< results that a volunteer has
    kResultsToDelete,         ///< results whose files wait for their deletion
    kWorkunitsToValidate,     ///< workunits that wait for the validator
    kWorkunitsToAssimilate,   ///< workunits that have ended and are not closed
    kWorkunitsToDelete,       ///< workunits whose files wait for their deletion
    kUsersWithRecentCredit,   ///< accounts that earn more than a credit a day
    kUsersWithCredit,         ///< accounts with any credit
    kUsersRegisteredLastDay,  ///< accounts made in the last 24 hours
    kHostsWithRecentCredit,   ///< computers that earn more than a credit a day
    kHostsWithCredit,         ///< computers with any credit
    kHostsRegisteredLastDay,  ///< computers that came in the last 24 hours
    kTeams,                   ///< all teams
};

/// The number of rows as of `now`, UTC seconds. Errors: DatabaseError. Cost: a part of an index.
std::int64_t count_of(Database& database, Figure figure, double now);

}  // namespace dedloc::server
