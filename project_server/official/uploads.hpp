// Output files of our jobs in the upload/ folder of an official project.
//
// BOINC's file_deleter takes every output file that a job describes for one that must be there: a
// file that a job need not have, and any file of a job that failed before it uploaded one, is an
// error that it tries again each hour. So our jobs describe their files as <no_delete/>, and they
// are deleted here when BOINC's transitioner has set result.file_delete_state, which says that
// no program needs them any more.
#pragma once

#include <cstdint>

#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"

namespace dedloc::official {

/// Which files delete_uploads() takes.
struct UploadSweep {
    /// Files without a result, which db_purge has deleted, go if they were last changed before
    /// this time, UTC seconds.
    std::int64_t before = 0;
    bool takes_all = false;  ///< all files of our runs, whatever their results need
};

/// Deletes output files of our runs' jobs that no program needs, and the folder of each if it is
/// empty then. Files of other apps' jobs are not touched. A file that cannot be deleted is logged.
/// Returns the number of files. Needs the table dedloc_run. Errors: DatabaseError.
int delete_uploads(const server::ProjectConfig& config, server::Database& database,
                   const UploadSweep& sweep);

}  // namespace dedloc::official
