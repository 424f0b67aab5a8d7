// The news as a list of page data.
#pragma once

#include "project_server/database/database.hpp"
#include "project_server/web/data/page_data.hpp"

namespace dedloc::server {

/// The newest `count` items: {id, title, created, text}. Errors: DatabaseError.
PageData::List news_list(Database& database, int count);

}  // namespace dedloc::server
