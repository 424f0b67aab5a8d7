// Judges the checkpoints that jobs have uploaded because the project asked for them, by the run's
// ledger, and takes the good ones into the run's folder. Nothing is paid for one, and a job's own
// verdict does not depend on it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "project_server/backbone/uploaded_checkpoint.hpp"
#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"

namespace dedloc::validation {

/// Numbers of files of one pass.
struct UploadReport {
    int judged = 0;   ///< got a verdict
    int waiting = 0;  ///< wait for the next decision of their run
    int unasked = 0;  ///< were deleted, since their jobs were not asked for one
};

/// Judges uploads. Thread: one.
class Uploads {
  public:
    /// Both must outlive it.
    Uploads(server::Database& database, const server::ProjectConfig& project);
    ~Uploads();

    /// Judges all files of jobs that were asked and have no verdict yet. A run that cannot be
    /// judged now is logged and left to the next pass. Errors: DatabaseError: no connection.
    /// Cost     nothing is read of a run without such a file; the first one reads its whole ledger,
    ///          and while a file waits, each pass what was appended to it
    UploadReport pass();
    /// Deletes the files of jobs in progress that were not asked for one.
    /// Cost     looks for one file for each job in progress
    UploadReport delete_unasked();

  private:
    struct Asked;
    class RunFolder;

    bool judge(const Asked& asked);
    /// What the run's folder says now.
    const RunFolder& run_folder(const Asked& asked);
    void record(const Asked& asked, const backbone::JudgedUpload& judged);

    server::Database& database_;
    const server::ProjectConfig& project_;
    std::set<std::int64_t> failing_;  ///< results of which the log says that they cannot be judged
    std::map<std::int64_t, std::unique_ptr<RunFolder>> runs_;  ///< those with a file that waits
};

}  // namespace dedloc::validation
