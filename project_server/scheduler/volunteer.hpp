// Who is asking: the account behind an authenticator and the row of the host it speaks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "project_server/database/database.hpp"
#include "project_server/scheduler/request.hpp"

namespace dedloc::server {

struct Account {
    std::int64_t id = 0;
    std::int64_t create_time = 0;
    std::string name;
    std::string email;
    std::string cross_project_id;
    std::int64_t team_id = 0;
    std::string team_name;
    double total_credit = 0;
    double recent_credit = 0;
    std::string project_preferences;  ///< XML as the client is to get it; may be empty
};

struct Host {
    std::int64_t id = 0;
    std::int64_t create_time = 0;
    std::string venue;
    double total_credit = 0;
    double recent_credit = 0;
    bool is_banned = false;
    bool is_new_to_client = false;  ///< the client must learn this id
};

std::optional<Account> find_account(Database& database, const std::string& authenticator);

/// The host row of this request, updated from it; locked until the transaction ends, so that two
/// requests of one host follow each other. A row is made for an unknown id, and for a sequence
/// number that goes backwards: somebody copied a client's folder. A client that lost its id but has
/// the name of a known host gets that row back, and what the row had in progress is over, unless
/// several clients may run there. Before  a transaction is open.
Host identify_host(Database& database, const Account& account, const SchedulerRequest& request,
                   const std::string& address, std::int64_t now);

/// The client's secret host name as other projects and the public may see it.
std::string public_host_name(const SchedulerRequest& request, const Account& account);

}  // namespace dedloc::server
