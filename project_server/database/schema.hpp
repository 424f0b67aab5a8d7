// The tables of a project: BOINC's and DeDLOC@home's (schema.sql, embedded in the programs).
#pragma once

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Creates the missing tables and reference rows in the selected database. Idempotent.
void apply_schema(Database& database);

}  // namespace dedloc::server
