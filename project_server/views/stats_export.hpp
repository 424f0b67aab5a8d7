// The statistics files that BOINC's db_dump writes, for sites such as BOINCstats.
#pragma once

#include <filesystem>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Writes user.gz, team.gz, host.gz, user_deleted.gz, host_deleted.gz, badge_user.gz,
/// badge_team.gz, db_dump.xml and, last, tables.xml into `folder`, each whole or not at all: they
/// are written under another name, synced and renamed. As in db_dump, rows without credit are left
/// out, computers of users who do not show them have no userid, and if the project has enabled
/// BOINC's consent STATSEXPORT only users who gave it are exported; their badges too, which db_dump
/// does not check. Rows are read a thousand at a time. `now`: UTC seconds.
/// Errors: DatabaseError, IoError.
void export_statistics(Database& database, const std::filesystem::path& folder, double now);

/// Everything that is due once an hour: lets recent credit fall, assigns badges by it, and exports
/// both. Errors as above.
void renew_statistics(Database& database, const std::filesystem::path& folder, double now);

/// The export in `folder` is older than an hour, or absent.
bool is_export_due(const std::filesystem::path& folder);

}  // namespace dedloc::server
