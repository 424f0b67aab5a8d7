// The single checks. Each adds what it finds, at least one finding, and throws Error if it cannot
// go on, which its caller makes a finding.
#pragma once

#include "project_server/check/check.hpp"
#include "project_server/check/findings.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::check {

// Files of the project.

/// Keys, passwords and sockets are the project's account's, and no other account can read them.
void check_secrets(const Subject& subject, Findings& findings);
/// The public and private halves of BOINC's key pairs belong together.
void check_keys(const Subject& subject, Findings& findings);
/// The TLS certificate can be read, fits its key and the URL, and does not end soon.
void check_certificate(const Subject& subject, Findings& findings);
/// Nothing was left by processes that were killed while they wrote.
void check_leftovers(const Subject& subject, Findings& findings);
/// The file systems have space.
void check_disk(const Subject& subject, Findings& findings);
/// What should run does, and accepts connections.
void check_daemons(const Subject& subject, Findings& findings);
/// The project's gateway answers at the project's URL.
void check_public_address(const Subject& subject, Findings& findings);

// The database.

/// Tables, columns and indices are those of schema.sql.
void check_schema(const Subject& subject, Findings& findings);
/// MariaDB finds no damage in the tables: CHECK TABLE, QUICK if the subject is.
void check_tables(const Subject& subject, server::Database& database, Findings& findings);
/// Rows refer to rows that exist.
void check_rows(const Subject& subject, server::Database& database, Findings& findings);
/// Accounts have the credit of their contributions. Needs one consistent view of all tables.
void check_credit(const Subject& subject, server::Database& database, Findings& findings);
/// Accounts and networks have seats left. A warning for each that has not.
void check_seats(const Subject& subject, server::Database& database, Findings& findings);

// Files that the database, or a run's file, names.

/// Runs: files, keys and rows belong together; shards have the digests in the run file.
void check_runs(const Subject& subject, server::Database* database, Findings& findings);
/// Ledgers are proven, and their rows are in the database. Needs one consistent view of all tables.
void check_ledgers(const Subject& subject, server::Database* database, Findings& findings);
/// Checkpoints hold states that the ledgers prove.
void check_checkpoints(const Subject& subject, Findings& findings);
/// Files of app versions are there, and signed by the project's key; input files of open jobs too.
void check_downloads(const Subject& subject, server::Database& database, Findings& findings);
/// Output files of validated results are there.
void check_uploads(const Subject& subject, server::Database& database, Findings& findings);

}  // namespace dedloc::check
