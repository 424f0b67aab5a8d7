// A project's configuration: BOINC's config.xml, read by libsched's own parser, so that BOINC's
// daemons and our programs interpret it in the same way. What BOINC does not know of a database,
// its socket and its TLS, is in elements of our own.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// The settings that our programs use.
struct ProjectConfig {
    std::filesystem::path directory;  ///< the project's folder, absolute
    std::string name;                 ///< long_name, for people
    std::string master_url;           ///< the URL that volunteers attach to; ends with /
    std::string download_url;         ///< base URL of input files and app versions
    std::string upload_url;  ///< contains "file_upload_handler", by which clients know output files
    std::filesystem::path download_directory;  ///< root of the download tree
    std::filesystem::path upload_directory;    ///< root of the upload tree
    std::filesystem::path key_directory;       ///< BOINC's keys
    DatabaseSettings database;                 ///< the project's database
    int directory_fanout = 0;     ///< subfolders of the download and upload trees; 0: flat
    int min_rpc_seconds = 0;      ///< request_delay: the client waits at least this long
    double next_rpc_seconds = 0;  ///< longest time between two requests of a client; 0: no limit
    int cpu_seats = 1;            ///< jobs that the processors of a host have at a time
    int seats_per_gpu = 1;        ///< jobs that each GPU of a host has at a time
    int daily_jobs_per_seat = 0;  ///< jobs a day for each seat of a reliable host; 0: no limit
    int min_client_version = 0;   ///< older BOINC clients get no jobs: 72005 is 7.20.5
    bool ignore_upload_certificates = false;  ///< accept uploads whose files are not signed
    bool send_messages_to_hosts = false;      ///< config.xml's msg_to_host
    bool credit_by_app = false;  ///< keep credit_user and credit_team, as config.xml says

    /// The URL of the scheduler.
    std::string scheduler_url() const { return master_url + "cgi/scheduler"; }
};

/// Reads `directory`/config.xml, also into libsched's global configuration, which create_work and
/// related functions use. Throws InputError when the file is absent, cannot be parsed or lacks an
/// element. Thread: main, before other threads start.
ProjectConfig load_project_config(const std::filesystem::path& directory);

/// The elements of config.xml that describe a database: their names and texts, not escaped. Those
/// with an empty text are to be left out, and removed where a file has them.
std::vector<std::pair<std::string, std::string>> database_elements(
    const DatabaseSettings& settings);

/// Opens the connection of libsched's own functions (boinc_db: create_work, create_result) to the
/// project's database in the same way as Database does, or replaces it after a lost connection.
/// Throws DatabaseError.
void open_boinc_database(const ProjectConfig& config);
void close_boinc_database();

}  // namespace dedloc::server
