// The news as a list of page data.
#pragma once

#include "project_server/database/database.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::server {

/// The newest `count` items: {id, title, created, text}. Errors: DatabaseError.
json::Value::List news_list(Database& database, int count);

}  // namespace dedloc::server
