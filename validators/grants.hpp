// Grants of credit to a host, its user and the user's team, with BOINC's totals and recent
// averages.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "project_server/database/database.hpp"

namespace dedloc::validation {

/// Credit for work of one job.
struct Grant {
    std::int64_t result = 0;  ///< the job; 0: it has been deleted
    std::int64_t host = 0;    ///< where it ran
    std::int64_t user = 0;    ///< whose it was
    double started = 0;       ///< when the job was sent, UTC seconds; 0: unknown
    double credit = 0;        ///< cobblestones
};

/// Called after each statement that writes, with a name of the place. For tests, which crash there.
using Passing = std::function<void(std::string_view place)>;

/// Adds the credit to the totals and averages of the host, its user and the user's team, whose rows
/// it locks in this order. A host that has been merged into another or deleted gets nothing; its
/// user and team do. Only inside a transaction. Errors: DatabaseError, Error (no such user).
void grant_credit(server::Database& database, const Grant& grant, const Passing& passing);

/// Adds the credit to what BOINC keeps for each app, user and team (credit_user, credit_team). Only
/// inside a transaction. Errors: DatabaseError, Error (no such result).
void grant_credit_by_app(server::Database& database, const Grant& grant, const Passing& passing);

}  // namespace dedloc::validation
