// The tables of a project: BOINC's and DeDLOC@home's (schema.sql, carried inside the programs).
#pragma once

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Creates what is missing of the tables and reference rows in the selected database; harmless when
/// all is there.
void apply_schema(Database& database);

}  // namespace dedloc::server
