// The notices that were sent to volunteers (database/notices.hpp), for an administrator.
#pragma once

#include "project_server/database/database.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::server {

/// {notices: [{id, created_at, host_id, host, user, is_delivered, text}]}, the newest `count` of
/// them. is_delivered: it was written into a reply to the computer. Errors: DatabaseError.
json::Value notice_list(Database& database, int count);

}  // namespace dedloc::server
