// Checks a whole project: its files, its database, and that they agree. Changes nothing, so it may
// run at any time, beside the daemons or without them.
//
// A stranger's file or row cannot harm it: each check reads with the limits of the reader that the
// daemons use, and an error that a reader throws is a finding.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "project_server/check/findings.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/settings.hpp"

namespace dedloc::check {

/// A daemon that should run, as the supervisor's files describe it.
struct ExpectedDaemon {
    std::string name;              ///< names its log and pid file
    bool runs = false;             ///< whether its process exists
    std::uintmax_t log_begin = 0;  ///< size of its log when it was started last
};

/// The project to check.
struct Subject {
    std::filesystem::path project;          ///< absolute
    server::Settings settings;              ///< dedloc.json
    server::ProjectConfig config;           ///< config.xml
    bool is_quick = false;                  ///< leaves out the digests of large files
    bool is_running = false;                ///< a supervisor holds the project's lock
    std::vector<ExpectedDaemon> daemons{};  ///< those that should run; empty unless it is running
    /// Why the database cannot be reached; empty: it can, as `config` says.
    std::string database_failure{};
    double now = 0;  ///< UTC seconds

    /// The folder that holds runs/ and keys/project.key.
    std::filesystem::path state() const { return server::state_folder(project); }
    /// Whether an official BOINC server owns the project, with rows and files that are not ours.
    bool is_official() const { return server::is_official(project); }
};

/// Does all checks. At least one finding for each of them; a check that cannot be done is a finding
/// too. `begins` is called with the name of each check before it is done.
///
/// Cost    reads, unless `is_quick`, every shard, checkpoint and published file once; reads each
///         ledger four times and verifies it twice (0.06 ms a vote), and the tables about three
///         times
/// Memory  40 bytes for each step of a run, about 200 for each peer key of a run, one page of rows
Findings check_project(const Subject& subject,
                       const std::function<void(const std::string&)>& begins = {});

}  // namespace dedloc::check
