// A connection of the client library, for Database and for libsched's functions, which write rows
// of their own.
#pragma once

#include "project_server/database/database.hpp"

struct st_mysql;  // libmariadb's MYSQL

namespace dedloc::server {

/// Connects by socket or TCP, with TLS if the settings name certificates, selects the database, and
/// sets what all statements of this project rely on. The caller closes the handle by mysql_close().
/// Errors: DatabaseError.
st_mysql* open_connection(const DatabaseSettings& settings);

/// The server's address for messages: its socket, or host:port.
std::string database_address(const DatabaseSettings& settings);

}  // namespace dedloc::server
