// What a client brings: finished results, messages of its apps, and the names of what it still has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"
#include "project_server/scheduler/request.hpp"
#include "project_server/scheduler/volunteer.hpp"

namespace dedloc::server {

/// Stores each reported result once and returns the names to acknowledge: those stored, those
/// stored before, and those that are nothing to this account, so that the client forgets them. A
/// result that was given up for lost is taken back. Before  a transaction is open.      Idempotent
/// yes.
std::vector<std::string> store_reports(Database& database, const Account& account, const Host& host,
                                       const std::vector<ReportedResult>& reports,
                                       std::int64_t now);

/// Before  a transaction is open. Not idempotent: whoever handles them must be.
void store_messages(Database& database, const Host& host, const std::vector<HostMessage>& messages,
                    std::int64_t now);

struct Aborts {
    std::vector<std::string> now;
    std::vector<std::string> if_not_started;
};
/// Which of the results that a client still has are of no use any more: cancelled, unknown, or done
/// by others.
Aborts useless_results(Database& database, const Account& account,
                       const std::vector<std::string>& names);

/// Whole <trickle_down> elements waiting for this host, marked as handed out: they are delivered at
/// most once.
std::string take_messages_for(Database& database, const Host& host);

}  // namespace dedloc::server
