// What a failed statement means: the database is away, or it refuses a value.
#pragma once

#include <string_view>

#include "project_server/database/database.hpp"

struct st_mysql;  // libmariadb's MYSQL

namespace dedloc::server {

/// Throws the last error of the connection, which the statement has met: RefusedData if the server
/// refuses a value in it, else DatabaseError.
[[noreturn]] void throw_statement_error(st_mysql* connection, std::string_view statement);

}  // namespace dedloc::server
