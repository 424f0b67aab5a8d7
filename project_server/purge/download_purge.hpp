// Deletes from the download folder what no client needs any more: run files and shards of ended
// runs, and files of app versions that are withdrawn or superseded.
#pragma once

#include <cstdint>
#include <vector>

#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"

namespace dedloc::purge {

/// Looks once an hour. Thread: one.
class DownloadPurge {
  public:
    /// `project` and `database` must outlive it.
    DownloadPurge(const server::ProjectConfig& project, server::Database& database)
        : config_(project), database_(database) {}

    /// Deletes what has not been needed since `before`; both are UTC seconds. Returns the number of
    /// files. A file that cannot be deleted is logged and tried again an hour later.
    ///
    /// Crash   at any moment: the next pass goes on
    /// Errors  DatabaseError
    int pass(std::int64_t now, std::int64_t before);

  private:
    /// Input files of runs that have ended. dedloc-work waits meanwhile, and copies again what a
    /// new run needs.
    int delete_inputs(std::int64_t before);
    /// Notes since when versions are unused, and decides which ones are never sent again.
    void choose_versions(std::int64_t now, std::int64_t before);
    /// Files of the versions that are never sent again.
    int delete_versions();

    const server::ProjectConfig& config_;
    server::Database& database_;
    std::int64_t looked_at_ = 0;
};

}  // namespace dedloc::purge
