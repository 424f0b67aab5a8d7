// dedloc project status: what of a project runs, how far its runs are, and what it takes.
#pragma once

#include <filesystem>

#include "project_server/json/value.hpp"

namespace dedloc::cli {

/// {name, url, is_running, since_at, is_database_up, disk: {free_bytes, database_bytes, runs_bytes,
/// downloads_bytes, uploads_bytes, logs_bytes}, jobs: {unsent, in_progress, waiting, succeeded,
/// failed}, last_backup: {created_at, archive_bytes, file}, warnings: [sentence], daemons: [{name,
/// process, since_at, restarts}], runs: [{name, state, step, steps, live, peers,
/// samples_per_second}]}
///
/// Runs are read from their ledgers and asked of their backbones, so neither they nor anything else
/// but `jobs` needs the database. `jobs` are results that dedloc-purge has not deleted yet; empty
/// while the database is away. A daemon that does not run now has process 0.
///
/// Errors  InputError (no such project)
/// Cost    reads all ledgers, the sizes of all files, and the index of the table result once
json::Value project_status(const std::filesystem::path& project);

}  // namespace dedloc::cli
