// Handles what a client reports: finished results, messages of its apps, and the names of the
// results that it still has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"
#include "project_server/scheduler/daily_quota.hpp"
#include "project_server/scheduler/request.hpp"
#include "project_server/scheduler/seats.hpp"
#include "project_server/scheduler/volunteer.hpp"

namespace dedloc::server {

/// Stores each reported result once and returns the names to acknowledge. These are all names of
/// reports that say how the task ended, also of results stored before or unknown to this account,
/// so that the client forgets them. A result that the server has given up is still accepted, from
/// any host of the account (README.md). Adjusts the host's daily quota. `held` are the host's jobs
/// in progress; those that are reported are removed from it.
///
/// Before  a transaction is open and the host row is locked      Idempotent  yes
std::vector<std::string> store_reports(Database& database, const Account& account, const Host& host,
                                       const std::vector<ReportedResult>& reports,
                                       std::vector<HeldJob>& held, DailyQuota& quota,
                                       std::int64_t now);

/// Stores messages (trickle-ups) for the project's daemons: those that ask for credit
/// (formats::kCreditMessage), at most one unhandled for each result of the account, whichever of
/// its hosts the job was sent to. Others are dropped, as all messages of a request are acknowledged
/// together.
///
/// Before  a transaction is open      Idempotent  no: the handler of the messages must be
void store_messages(Database& database, const Account& account,
                    const std::vector<HostMessage>& messages, std::int64_t now);

/// Names of results that a client is told to abort.
struct Aborts {
    std::vector<std::string> now;             ///< cancelled, or unknown to this account
    std::vector<std::string> if_not_started;  ///< timed out, or their workunit is done
};
/// Selects the results to abort among those that a client still has.
Aborts useless_results(Database& database, const Account& account,
                       const std::vector<std::string>& names);

/// The <trickle_down> elements that wait for this host. Marks them as delivered, so they are
/// delivered at most once.
std::string take_messages_for(Database& database, const Host& host);

}  // namespace dedloc::server
