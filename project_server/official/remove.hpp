// `dedloc install --remove`: takes DeDLOC@home out of the project of an official BOINC server.
#pragma once

#include <filesystem>

#include "project_server/official/install.hpp"

namespace dedloc::official {

/// Arguments of remove().
struct RemoveOptions {
    std::filesystem::path project;  ///< the project's folder
    /// Also runs, ledgers, checkpoints, jobs, app versions, tables with rows and logs. Without it
    /// they stay, unless there is no run and no row.
    bool drops_data = false;
    bool is_dry = false;  ///< change nothing
};

/// Takes back what install() has added, and leaves what an administrator has added or edited since,
/// but for our own entries in config.xml. Jobs that no volunteer has are cancelled. Credit of users
/// is never touched. After a kill -9 the next call completes it. Returns the number of things that
/// it did.
///
/// Errors  as Project; InputError (daemons of ours run), IoError
std::size_t remove(const RemoveOptions& options, const Report& report);

}  // namespace dedloc::official
