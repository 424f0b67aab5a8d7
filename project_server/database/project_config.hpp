// What a project's config.xml says. It is BOINC's file, read by libsched's own parser, so that
// BOINC's daemons and these programs cannot understand it differently.
#pragma once

#include <filesystem>
#include <string>

#include "project_server/database/database.hpp"

namespace dedloc::server {

struct ProjectConfig {
    std::filesystem::path directory;  ///< absolute
    std::string name;                 ///< long_name, for people
    std::string master_url;           ///< what volunteers attach to; ends with /
    std::string download_url;
    std::string
        upload_url;  ///< holds "file_upload_handler": by that word the client knows output files
    std::filesystem::path download_directory;
    std::filesystem::path upload_directory;
    std::filesystem::path key_directory;
    DatabaseSettings database;
    int directory_fanout = 0;     ///< of download and upload trees; 0: flat
    int min_rpc_seconds = 0;      ///< request_delay: the client waits at least this long
    double next_rpc_seconds = 0;  ///< the client asks at least this often; 0: when it wants
    int jobs_per_core = 1;        ///< a host never holds more jobs than this times its cores
    bool ignore_upload_certificates = false;
    bool send_messages_to_hosts = false;

    std::string scheduler_url() const { return master_url + "cgi/scheduler"; }
};

/// Reads `directory`/config.xml, also into libsched's global configuration, which create_work and
/// its kin use. Throws InputError when the file is absent, cannot be parsed or lacks an element.
/// Thread: main, before others start.
ProjectConfig load_project_config(const std::filesystem::path& directory);

/// Connects libsched's global connection (boinc_db) to the project's database. Again after a lost
/// connection. Throws DatabaseError.
void open_boinc_database(const ProjectConfig& config);
void close_boinc_database();

}  // namespace dedloc::server
