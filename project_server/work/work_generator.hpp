// Jobs for volunteers: while a run is running, some are always unsent; when it is paused or
// finished, those that nobody has begun are cancelled. Each pass looks at the tables and does what
// is missing, so a crash between any two statements is mended by the next pass. A job's
// workunit.opaque is dedloc_run.id; its instances are made by the transitioner.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"

namespace dedloc::work {

struct WorkOptions {
    std::string app = "dedloc_train";
    int seats_ready = 2;  ///< unsent jobs kept for each running run
};

struct WorkReport {
    int created = 0;
    int cancelled = 0;
    int assimilated = 0;
};

/// Thread: one. Uses libsched's global connection for create_work.
class WorkGenerator {
  public:
    /// Writes the output template into the project unless it is there. `database` must outlive the
    /// generator.
    WorkGenerator(server::ProjectConfig project, server::Database& database, WorkOptions options);
    ~WorkGenerator();

    /// Errors: DatabaseError, IoError (a file that cannot be staged), InputError (a run that cannot
    /// be read). What had been done before stays.
    WorkReport pass();

  private:
    void create_jobs(std::int64_t run, const std::string& name, WorkReport& report);
    void create_job(std::int64_t run, const std::string& name);
    void cancel_jobs(std::int64_t run, WorkReport& report);

    const server::ProjectConfig config_;
    server::Database& database_;
    const WorkOptions options_;
    std::int64_t app_ = 0;
};

}  // namespace dedloc::work
