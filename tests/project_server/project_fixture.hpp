// A whole project in a temporary directory, on a private database. Everything is gone when it goes.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "peer/platform/ports.hpp"
#include "project_server/database/database.hpp"
#include "project_server/database/mariadb.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/database/schema.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::server {

/// One database server for all tests of a program: it takes seconds to make.
inline MariadbProcess& test_mariadb() {
    struct Server {
        TemporaryDirectory directory;
        std::unique_ptr<MariadbProcess> process;
        Server() {
            const MariadbPlace place{.directory = directory.path() / "db",
                                     .port = platform::free_port("127.0.0.1")};
            initialise_mariadb(place);
            process = std::make_unique<MariadbProcess>(place);
            // What tests write need not outlive a crash of the machine; to make tables is slow.
            Database administrator{mariadb_administrator(place)};
            for (const char* const setting :
                 {"innodb_flush_log_at_trx_commit", "innodb_file_per_table", "sync_frm"}) {
                administrator.execute(std::string{"set global "} + setting + " = 0");
            }
        }
    };
    static Server server;
    return *server.process;
}

/// A project directory with config.xml and an empty database with the schema. The master URL has no
/// server behind it unless a test starts one on `port`.
class TestProject {
  public:
    explicit TestProject(std::uint16_t port = 1) {
        Database administrator{mariadb_administrator(test_mariadb().place())};
        administrator.execute("drop database if exists dedloc_test");
        create_database(administrator, settings());
        for (const char* const folder : {"download", "upload", "keys", "templates"}) {
            std::filesystem::create_directories(root() / folder);
        }
        std::ofstream{root() / "config.xml"} << config_text(port);
        config_ = load_project_config(root());
        database_ = std::make_unique<Database>(config_.database);
        apply_schema(*database_);
    }

    const std::filesystem::path& root() const { return directory_.path(); }
    const ProjectConfig& config() const { return config_; }
    Database& database() { return *database_; }

  private:
    static DatabaseSettings settings() {
        return {.host = "127.0.0.1",
                .port = test_mariadb().place().port,
                .socket = "",
                .user = "tester",
                .password = "quote ' and \\ backslash",
                .name = "dedloc_test"};
    }
    std::string config_text(std::uint16_t port) const {
        const std::string master = "http://127.0.0.1:" + std::to_string(port) + "/";
        const std::string base = root().string();
        return "<boinc>\n<config>\n<long_name>Test project</long_name>\n<master_url>" + master +
               "</master_url>\n<download_url>" + master + "download</download_url>\n<upload_url>" +
               master + "file_upload_handler</upload_url>\n<download_dir>" + base +
               "/download</download_dir>\n<upload_dir>" + base + "/upload</upload_dir>\n<key_dir>" +
               base +
               "/keys</key_dir>\n<db_name>dedloc_test</db_name>\n<db_user>tester</db_user>\n" +
               "<db_passwd>quote ' and \\ backslash</db_passwd>\n<db_host>127.0.0.1:" +
               std::to_string(settings().port) + "</db_host>\n<uldl_dir_fanout>1024" +
               "</uldl_dir_fanout>\n<min_sendwork_interval>1</min_sendwork_interval>\n" +
               "<next_rpc_delay>5</next_rpc_delay>\n<max_wus_in_progress>1" +
               "</max_wus_in_progress>\n<msg_to_host>1</msg_to_host>\n" + "</config>\n</boinc>\n";
    }

    TemporaryDirectory directory_;
    ProjectConfig config_;
    std::unique_ptr<Database> database_;
};

}  // namespace dedloc::server
