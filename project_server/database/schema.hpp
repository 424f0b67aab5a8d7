// The tables of a project: BOINC's and DeDLOC@home's (schema.sql, embedded in the programs).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Creates the missing tables and reference rows in the selected database, moves what earlier
/// versions kept elsewhere (move_former_figures), and converts text that is not compared by bytes
/// (text_columns.hpp). Returns a sentence for each table converted or moved. Idempotent.
std::vector<std::string> apply_schema(Database& database);
/// The same. Returns also a sentence for each table, column and index that was absent.
std::vector<std::string> upgrade_schema(Database& database);
/// The same as apply_schema() for DeDLOC@home's tables only, in the database of an official BOINC
/// server: neither a table nor an index nor a row of BOINC's is touched.
void apply_own_schema(Database& database);

/// Makes the schema's tables as empty temporary tables of this connection, where they hide the real
/// ones until it ends: to compare them. `is_own`: DeDLOC@home's tables only.
void make_temporary_schema(Database& database, bool is_own);

/// DeDLOC@home's tables, in the order of their creation.
std::vector<std::string> own_tables();
/// All tables, BOINC's too.
std::vector<std::string> all_tables();
/// DeDLOC@home's tables whose rows come with the schema.
std::vector<std::string> reference_tables();
/// The whole schema, which identifies its version.
std::string_view schema_text();

}  // namespace dedloc::server
