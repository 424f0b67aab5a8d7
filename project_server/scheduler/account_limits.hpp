// What one account may take from the others. Computers cost their account nothing: a client that
// names none gets a new one with each request.
#pragma once

#include <cstdint>
#include <filesystem>

#include "peer/base/error.hpp"
#include "project_server/database/database.hpp"
#include "project_server/scheduler/volunteer.hpp"

namespace dedloc::server {

/// The limits of a project, elements of its config.xml.
struct AccountLimits {
    /// <max_new_hosts_per_day>: computers that an account may add in 24 hours.
    std::int64_t new_hosts = 50;
    /// <max_jobs_without_credit>: jobs in progress of an account on computers that have no credit
    /// yet. Concurrent requests may exceed it by a few.
    std::int64_t jobs_without_credit = 32;
};

/// An account may not add a computer now. The volunteer reads the sentence.
class TooManyHosts : public Error {
  public:
    using Error::Error;
};

/// Reads them from `project`/config.xml; an absent element leaves the default. Errors: InputError.
AccountLimits read_account_limits(const std::filesystem::path& project);

/// Locks the account's row, so that concurrent requests add computers one after the other. Errors:
/// TooManyHosts; DatabaseError.
///
/// Before  a transaction is open
void require_new_host(Database& database, const Account& account, const AccountLimits& limits,
                      std::int64_t now);

/// How many more jobs the host may get now; INT32_MAX if it has credit.
std::int64_t jobs_left(Database& database, const Account& account, const Host& host,
                       const AccountLimits& limits);

}  // namespace dedloc::server
