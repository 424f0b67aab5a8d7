// Text that identifies something is compared by its bytes: in new databases whatever their defaults
// are, in those that the former release has made, and in BOINC's tables under an official server.
#include "project_server/database/text_columns.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "tests/project_server/project_fixture.hpp"

namespace dedloc::server {
namespace {

/// Texts that the usual collations take for equal.
const std::vector<std::string> kLookAlikes{"jose", "jos\u00E9", "JOSE", "jose\u0301", "jose "};

/// A database with the defaults of an existing server, and the account of the project in it.
class ExistingDatabase {
  public:
    explicit ExistingDatabase(const std::string& collation) {
        const std::string characters = collation.substr(0, collation.find('_'));
        Database administrator{mariadb_administrator(test_mariadb().place())};
        administrator.execute("drop database if exists dedloc_existing");
        administrator.execute(fmt::format(
            "create database dedloc_existing character set {} collate {}", characters, collation));
        auto settings = mariadb_administrator(test_mariadb().place());
        settings.name = "dedloc_existing";
        database_ = std::make_unique<Database>(settings);
    }
    Database& database() { return *database_; }

    /// Executes the lines of a dump.
    void load(const std::string& dump) {
        std::istringstream lines{dump};
        std::string statement;
        for (std::string line; std::getline(lines, line);) {
            if (line.empty() || line.starts_with("--")) continue;
            statement += line + '\n';
            if (!line.ends_with(';')) continue;
            statement.resize(statement.rfind(';'));
            database().execute(statement);
            statement.clear();
        }
    }

  private:
    std::unique_ptr<Database> database_;
};

std::string former_project() {
    std::ifstream file{std::string{DEDLOC_FIXTURES} + "/former_project.sql"};
    return {std::istreambuf_iterator<char>{file}, {}};
}

struct TextColumn {
    std::string table;
    std::string name;
    std::string collation;
};

std::vector<TextColumn> text_columns(Database& database) {
    std::vector<TextColumn> columns;
    for (const auto& row : database.query(
             "select table_name as its_table, column_name as name, collation_name as collation_ "
             "from information_schema.columns where table_schema = database() and collation_name "
             "is not null")) {
        columns.push_back({.table = row.text("its_table"),
                           .name = row.text("name"),
                           .collation = row.text("collation_")});
    }
    return columns;
}

std::int64_t count(Database& database, const std::string& from) {
    return database.query_one("select count(*) as n from " + from)->integer("n");
}

/// The number of rows of each table.
std::map<std::string, std::int64_t> rows_of_all(Database& database) {
    std::map<std::string, std::int64_t> rows;
    for (const std::string& table : all_tables()) rows[table] = count(database, table);
    return rows;
}

/// Type, null and default of each column.
std::map<std::string, std::string> types_of_all(Database& database) {
    std::map<std::string, std::string> all;
    for (const auto& row : database.query(
             "select concat(table_name, '.', column_name) as name, concat_ws(' ', column_type, "
             "is_nullable, coalesce(column_default, 'none'), extra) as type from "
             "information_schema.columns where table_schema = database()")) {
        all[row.text("name")] = row.text("type");
    }
    return all;
}

std::int64_t users_with(Database& database, const std::string& email) {
    return count(database, fmt::format("user where email_addr = '{}'", email));
}

/// The rows of the former project.
void check_rows(Database& database) {
    const auto user = database.query_one("select * from user where id = 1");
    CHECK(user->text("email_addr") == "josé@example.org");
    CHECK(user->text("name") == "José Ñandú");
    CHECK(user->text("country") == "Perú");
    CHECK(user->text("global_prefs") == "<global_preferences>é</global_preferences>");
    CHECK(user->real("total_credit") == 70);
    const auto team = database.query_one("select * from team");
    CHECK(team->text("name") == "Équipe Nº 1");
    CHECK(team->text("description") == "Ça va – «oui»");
    CHECK(database.query_one("select body from dedloc_news")->text("body") ==
          "Il fait chaud – à Zürich");
    CHECK(count(database, "result where name = 'albert_1_0' and granted_credit = 70") == 1);
    CHECK(count(database, "dedloc_mail where email = 'josé@example.org'") == 1);
}

/// Adds rows that the former collation took for equal to those of the project.
void add_look_alikes(Database& database) {
    CHECK(users_with(database, "jose@example.org") == 0);
    for (const char* const email :
         {"jose@example.org", "JOSÉ@example.org", "josé@example.org ", "王小明@example.org"}) {
        database.execute("insert into user (email_addr, authenticator, name) values (?, md5(?), ?)",
                         {email, email, "Ольга"});
        CHECK(users_with(database, email) == 1);
    }
    for (const char* const name : {"équipe nº 1", "Equipe Nº 1", "Équipe Nº 1 "}) {
        CHECK(database.execute("insert into team (name, name_lc) values (?, lower(?))",
                               {name, name}) == 1);
    }
    for (const char* const name : {"ALBERT_1_0", "albert_1_0 ", "álbert_1_0"}) {
        CHECK(database.execute("insert into result (name) values (?)", {name}) == 1);
    }
}

}  // namespace

TEST_CASE("all text of the schema is compared by bytes, whatever the defaults are", "[server]") {
    for (const char* const collation :
         {"utf8mb4_general_ci", "utf8mb4_unicode_ci", "latin1_swedish_ci", "utf8mb3_general_ci"}) {
        INFO(collation);
        ExistingDatabase existing{collation};
        CHECK(apply_schema(existing.database()).empty());
        const auto columns = text_columns(existing.database());
        CHECK(columns.size() >= 100);
        std::set<std::string> names;
        for (const TextColumn& column : columns) {
            INFO(column.table << '.' << column.name);
            CHECK(column.collation == kTextCollation);
            names.insert(column.table + '.' + column.name);
        }
        for (const char* const identity :
             {"user.email_addr", "user.authenticator", "user.name", "team.name", "token.token",
              "result.name", "workunit.name", "app.name", "platform.name", "host.host_cpid",
              "app_version.plan_class", "dedloc_run.name", "dedloc_mail.email",
              "dedloc_revocation.subject", "dedloc_ticket.peer_key", "dedloc_seat.result_name"}) {
            INFO(identity);
            CHECK(names.contains(identity));
        }
        for (const auto& row : existing.database().query(
                 "select table_name as name, table_collation as collation_ from "
                 "information_schema.tables where table_schema = database()")) {
            INFO(row.text("name"));
            CHECK(row.text("collation_") == kTextCollation);
        }
    }
}

TEST_CASE("every statement that creates a table says how its text is compared", "[server]") {
    // apply_schema() converts every table, so the schema is read for statements that omit it.
    const std::string text{schema_text()};
    const std::regex table{R"(create table if not exists (\w+) \([^;]*\)([^;)]*);)"};
    int tables = 0;
    for (std::sregex_iterator at{text.begin(), text.end(), table}, end; at != end; ++at) {
        INFO((*at)[1]);
        CHECK((*at)[2] == fmt::format(" engine=InnoDB default character set {} collate {}",
                                      kTextCharacterSet, kTextCollation));
        ++tables;
    }
    CHECK(tables == static_cast<int>(all_tables().size()));
}

TEST_CASE("a unique text keeps apart what looks alike", "[server]") {
    ExistingDatabase existing{"utf8mb4_unicode_ci"};
    Database& database = existing.database();
    apply_schema(database);
    int keys = 0;
    for (const auto& key : database.query(
             "select s.table_name as its_table, s.column_name as name, c.data_type as type "
             "from information_schema.statistics s join information_schema.columns c on "
             "c.table_schema = s.table_schema and c.table_name = s.table_name and c.column_name = "
             "s.column_name where s.table_schema = database() and s.non_unique = 0 and "
             "c.collation_name is not null")) {
        const std::string column = key.text("name");
        INFO(key.text("its_table") << '.' << column);
        // The other columns of the table are left out.
        database.execute(fmt::format("create temporary table alike select {} from {} limit 0",
                                     column, key.text("its_table")));
        database.execute(fmt::format("alter table alike add unique key ({})", column));
        auto texts = kLookAlikes;
        if (key.text("type") == "char") texts.pop_back();  // stores no trailing blanks
        for (const std::string& text : texts) {
            CHECK(database.execute("insert into alike values (?)", {text}) == 1);
        }
        for (const std::string& text : texts) {
            const auto found = database.query(
                fmt::format("select {0} as text_ from alike where {0} = ?", column), {text});
            REQUIRE(found.size() == 1);
            CHECK(found.front().text("text_") == text);
        }
        database.execute("drop temporary table alike");
        ++keys;
    }
    CHECK(keys > 12);
}

TEST_CASE("the upgrade keeps all rows of a former project, and compares its text by bytes",
          "[server]") {
    const std::string former =
        GENERATE("utf8mb4_general_ci", "latin1_swedish_ci", "utf8mb4_unicode_ci");
    INFO(former);
    ExistingDatabase existing{former};
    Database& database = existing.database();
    existing.load(std::regex_replace(
        former_project(), std::regex{"CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci"},
        fmt::format("CHARSET={} COLLATE={}", former.substr(0, former.find('_')), former)));
    const auto rows = rows_of_all(database);
    auto columns = types_of_all(database);
    const auto changed = database.query_one("select mod_time from team")->text("mod_time");
    CHECK(users_with(database, "jose@example.org") == 1);
    CHECK_THROWS_WITH(
        database.execute("insert into team (name, name_lc) values ('ÉQUIPE Nº 1 ', '')"),
        Catch::Contains("Duplicate"));

    auto changes = upgrade_schema(database);
    const auto converted = std::erase_if(changes, [&](const std::string& change) {
        return change.find("now, not by " + former) != std::string::npos;
    });
    CHECK(converted == all_tables().size());
    CHECK(changes == std::vector<std::string>{"column dedloc_mail.userid was created",
                                              "index dedloc_mail.dedloc_mail_request was created"});
    CHECK(upgrade_schema(database).empty());
    CHECK(tables_with_other_text(database, all_tables()).empty());

    CHECK(rows_of_all(database) == rows);
    auto types = types_of_all(database);
    for (const char* const changed_column :
         {"dedloc_mail.userid", "dedloc_mail.email", "dedloc_checkpoint.path"}) {
        types.erase(changed_column);
        columns.erase(changed_column);
    }
    CHECK(types == columns);
    CHECK(database.query_one("select mod_time from team")->text("mod_time") == changed);
    check_rows(database);
    add_look_alikes(database);
}

TEST_CASE("tables of DeDLOC under an official server are compared by bytes, BOINC's stay",
          "[server]") {
    ExistingDatabase existing{"utf8mb4_unicode_ci"};
    Database& database = existing.database();
    existing.load(std::regex_replace(former_project(), std::regex{"COLLATE=utf8mb4_general_ci"},
                                     "COLLATE=utf8mb4_unicode_ci"));
    apply_own_schema(database);
    for (const TextColumn& column : text_columns(database)) {
        INFO(column.table << '.' << column.name);
        const bool is_own = column.table.starts_with("dedloc_");
        CHECK(column.collation == (is_own ? kTextCollation : "utf8mb4_unicode_ci"));
    }
    // Ours and BOINC's together.
    CHECK(database
              .query("select u.id from user u join dedloc_revocation b on b.kind = 'user' and "
                     "b.subject = cast(u.id as char)")
              .size() == 1);
    CHECK(database.query("select s.step from dedloc_seat s join result r on r.name = s.result_name")
              .size() == 1);
    // An index finds the row, and the bytes decide.
    const std::string found = "user where " + same_text("email_addr");
    const auto rows = [&](const std::string& email) {
        return database.query("select id from " + found, {email, email}).size();
    };
    CHECK(rows("josé@example.org") == 1);
    CHECK(rows("jose@example.org") == 0);
    CHECK(rows("JOSÉ@example.org") == 0);
    CHECK(rows("josé@example.org ") == 0);
    const auto plan = database.query_one("explain select id from " + found,
                                         {"anna@example.org", "anna@example.org"});
    CHECK(plan->text("key") == "user_email");
}

}  // namespace dedloc::server
