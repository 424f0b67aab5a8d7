// The project of an official BOINC server: a folder as make_project leaves it, and a database with
// BOINC's tables only.
#pragma once

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "peer/platform/files.hpp"
#include "project_server/database/schema.hpp"
#include "project_server/official/entries.hpp"
#include "project_server/publishing/keys.hpp"
#include "tests/project_server/project_fixture.hpp"

namespace dedloc::tests {

namespace fs = std::filesystem;

/// config.xml in the layout of make_project, which is that of Python's minidom.
inline std::string official_config(const fs::path& root, std::uint16_t port,
                                   const std::string& lists) {
    const auto line = [](const char* name, const std::string& text) {
        return "        <" + std::string{name} + ">" + text + "</" + name + ">\n";
    };
    const std::string master = "http://127.0.0.1:" + std::to_string(port) + "/quality/";
    return "<?xml version=\"1.0\" ?>\n<boinc>\n    <config>\n" +
           line("long_name", "Quality &amp; Co") + line("db_user", "boincadm") +
           line("db_name", "official_test") + line("db_passwd", "secret") +
           line("db_host", "127.0.0.1:" + std::to_string(server::test_mariadb().place().port)) +
           line("shmem_key", "0x1111a1b2") + line("uldl_dir_fanout", "1024") +
           line("host", "machine") + line("min_sendwork_interval", "6") +
           line("max_wus_to_send", "50") + line("daily_result_quota", "500") +
           line("one_result_per_user_per_wu", "0") + line("cache_md5_info", "1") +
           line("send_result_abort", "1") + line("dont_generate_upload_certificates", "1") +
           line("ignore_upload_certificates", "1") + line("master_url", master) +
           line("download_url", master + "download") +
           line("upload_url",
                "http://127.0.0.1:" + std::to_string(port) + "/quality_cgi/file_upload_handler") +
           line("download_dir", (root / "download").string()) +
           line("upload_dir", (root / "upload").string()) +
           line("key_dir", (root / "keys/").string()) + line("app_dir", (root / "apps").string()) +
           line("log_dir", (root / "log_machine").string()) + "    </config>\n" + lists +
           "</boinc>\n";
}

/// The daemons and tasks of a new project.
inline const std::string kUsualLists = R"(    <tasks>
        <task>
            <period>24 hours</period>
            <output>antique_file_deleter.out</output>
            <cmd>antique_file_deleter -d 2</cmd>
            <disabled>0</disabled>
        </task>
        <!-- <task><cmd>dedloc-purge</cmd></task> is not an entry -->
        <task>
            <period>1 days</period>
            <cmd>update_stats</cmd>
        </task>
    </tasks>
    <daemons>
        <daemon>
            <cmd>feeder -d 3 </cmd>
        </daemon>
        <daemon>
            <cmd>transitioner -d 3 </cmd>
        </daemon>
        <daemon>
            <cmd>file_deleter -d 3 </cmd>
        </daemon>
    </daemons>
)";

class OfficialProject {
  public:
    explicit OfficialProject(const std::string& lists = kUsualLists, std::uint16_t port = 1) {
        for (const char* const name :
             {"apps", "bin", "cgi-bin", "download", "html/cache", "html/inc", "html/ops",
              "html/project", "html/stats", "html/user", "keys", "log_machine", "py/Boinc",
              "templates", "tmp_machine", "upload"}) {
            fs::create_directories(root() / name);
        }
        fs::permissions(root() / "upload", fs::perms{02770});
        for (const char* const name : {"bin/start", "bin/feeder", "bin/transitioner", "bin/xadd",
                                       "cgi-bin/cgi", "html/user/index.php", "project.xml",
                                       "db_dump_spec.xml", "quality.httpd.conf", "db_revision"}) {
            std::ofstream{root() / name} << "official " << name << '\n';
        }
        server::make_key_pair(root() / "keys", "code_sign");
        server::make_key_pair(root() / "keys", "upload");
        std::ofstream{root() / "config.xml"} << official_config(root(), port, lists);
        fs::permissions(root() / "config.xml", fs::perms{0640});
        make_database();
        programs_ = other_.path();
        for (const char* const name : official::kPrograms) write_program(name, "first");
    }

    const fs::path& root() const { return directory_.path(); }
    server::Database& database() { return *database_; }
    /// A folder with something for each program of `dedloc install`.
    const fs::path& programs() const { return programs_; }
    void write_program(const std::string& name, const std::string& version) const {
        std::ofstream{programs_ / name} << version << ' ' << std::string(20'000, 'x') << name;
    }
    std::string config() const { return platform::read_text(root() / "config.xml"); }
    void write_config(const std::string& text) const {
        std::ofstream{root() / "config.xml"} << text;
    }

    /// Every file and folder with its permissions and contents.
    std::map<std::string, std::string> files() const {
        std::map<std::string, std::string> all;
        for (const auto& entry : fs::recursive_directory_iterator{root()}) {
            struct stat facts {};
            REQUIRE(lstat(entry.path().c_str(), &facts) == 0);
            auto& text = all[fs::relative(entry.path(), root()).string()];
            text = std::to_string(facts.st_mode) + ' ';
            if (entry.is_regular_file()) text += platform::read_text(entry.path());
        }
        return all;
    }
    /// The definition of every table.
    std::map<std::string, std::string> tables() {
        std::map<std::string, std::string> all;
        for (const auto& row :
             database().query("select table_name as name from information_schema.tables where "
                              "table_schema = 'official_test'")) {
            const auto name = row.text("name");
            const auto shown = database().query_one("show create table " + name);
            all[name] = std::regex_replace(shown->text("Create Table"),
                                           std::regex{" AUTO_INCREMENT=[0-9]+"}, "");
        }
        return all;
    }

  private:
    void make_database() {
        server::Database administrator{
            server::mariadb_administrator(server::test_mariadb().place())};
        const server::DatabaseSettings settings{.host = "127.0.0.1",
                                                .port = server::test_mariadb().place().port,
                                                .socket = "",
                                                .user = "boincadm",
                                                .password = "secret",
                                                .name = "official_test"};
        administrator.execute("drop database if exists official_test");
        server::create_database(administrator, settings);
        // make_project creates the database so, and its tables have no collation of their own.
        administrator.execute(
            "alter database official_test character set utf8mb4 collate utf8mb4_unicode_ci");
        database_ = std::make_unique<server::Database>(settings);
        std::istringstream lines{std::string{server::schema_text()}};
        std::string statement;
        for (std::string line; std::getline(lines, line);) {
            if (line.empty() || line.starts_with("--")) continue;
            statement += line + '\n';
            if (!line.ends_with(';')) continue;
            statement = std::regex_replace(statement, std::regex{"default character set.*;"}, ";");
            // BOINC's tables without what our own server adds.
            if (statement.find("dedloc_") == std::string::npos) database_->execute(statement);
            statement.clear();
        }
        database_->execute("alter table user add unique (name)");
    }

    TemporaryDirectory directory_;
    TemporaryDirectory other_;
    fs::path programs_;
    std::unique_ptr<server::Database> database_;
};

}  // namespace dedloc::tests
