// Text that identifies something is compared by its bytes: in new databases whatever their defaults
// are, in those that the former release has made, and in BOINC's tables under an official server.
#include "project_server/database/text_columns.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "project_server/database/evaluations.hpp"
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

/// The number of rows of each table of the schema; a former project lacks some.
std::map<std::string, std::int64_t> rows_of_all(Database& database) {
    std::map<std::string, std::int64_t> rows;
    for (const std::string& table : all_tables()) {
        if (database.query("show tables like ?", {table}).empty()) continue;
        rows[table] = count(database, table);
    }
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

/// The figures of the former project's evaluations, which were columns.
void check_figures(Database& database) {
    database.execute(
        "insert into dedloc_step values (1, 7, 10, 7, 0.1, 3, 3, repeat('ab', 32), 1, 1)");
    const auto evaluations = read_evaluations(database, 1);
    REQUIRE(evaluations.size() == 2);
    CHECK(evaluations[0].loss == 11.003);
    CHECK(evaluations[1].loss_error == 0.125);
    CHECK(evaluations[1].seconds == 8.25);
    using Figures = std::vector<formats::MeasuredFigure>;
    CHECK(evaluations[0].figures == Figures{{.name = "masked_accuracy", .value = 0.00003},
                                            {.name = "masked_loss", .value = 10.31},
                                            {.name = "order_accuracy", .value = 0.4951171875},
                                            {.name = "order_loss", .value = 0.693}});
    CHECK(evaluations[1].figures == Figures{{.name = "masked_accuracy", .value = 0.1},
                                            {.name = "masked_loss", .value = 5.6},
                                            {.name = "order_accuracy", .value = 0.6666666666666666},
                                            {.name = "order_loss", .value = 0.65}});
    CHECK(database.query_one("select architecture from dedloc_run")->text("architecture") ==
          "albert");
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

/// Tables that a former project lacks and that are empty after the upgrade.
constexpr std::array kNewTables{"dedloc_administrator", "dedloc_answer", "dedloc_invitation",
                                "dedloc_join_policy", "dedloc_presence"};

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
    CHECK(converted == rows.size());
    CHECK(changes ==
          std::vector<std::string>{
              "column dedloc_mail.userid was created", "column dedloc_run.architecture was created",
              "column dedloc_run.least_flops_per_sample was created",
              "column dedloc_ticket.network was created",
              "index dedloc_mail.dedloc_mail_request was created",
              "index dedloc_ticket.dedloc_ticket_network was created",
              "table dedloc_administrator was created", "table dedloc_answer was created",
              "table dedloc_figure was created", "table dedloc_invitation was created",
              "table dedloc_join_policy was created", "table dedloc_presence was created",
              "the figures of dedloc_evaluation were moved to dedloc_figure"});
    CHECK(upgrade_schema(database).empty());
    CHECK(tables_with_other_text(database, all_tables()).empty());

    auto rows_after = rows_of_all(database);
    CHECK(rows_after.size() == all_tables().size());
    CHECK(rows_after["dedloc_figure"] == 4 * rows.at("dedloc_evaluation"));
    rows_after.erase("dedloc_figure");
    for (const char* const empty : kNewTables) {
        CHECK(rows_after[empty] == 0);
        rows_after.erase(empty);
    }
    CHECK(rows_after == rows);
    // Seats that were taken before count in no network until their jobs ask again.
    CHECK(database.query_one("select network from dedloc_ticket")->text("network").empty());
    auto types = types_of_all(database);
    for (const char* const changed_column :
         {"dedloc_mail.userid", "dedloc_mail.email", "dedloc_checkpoint.path",
          "dedloc_run.least_flops_per_sample", "dedloc_ticket.network",
          "dedloc_run.architecture"}) {
        types.erase(changed_column);
        columns.erase(changed_column);
    }
    std::erase_if(types, [&](const auto& column) {
        return !rows.contains(column.first.substr(0, column.first.find('.')));
    });
    for (const char* const moved :
         {"dedloc_evaluation.masked_loss", "dedloc_evaluation.order_loss",
          "dedloc_evaluation.masked_accuracy", "dedloc_evaluation.order_accuracy"}) {
        CHECK(columns.erase(moved) == 1);
    }
    CHECK(types == columns);
    CHECK(database.query_one("select mod_time from team")->text("mod_time") == changed);
    check_rows(database);
    check_figures(database);
    add_look_alikes(database);
}

TEST_CASE("figures are moved out of their former columns, even after a crash on the way",
          "[server]") {
    ExistingDatabase existing{"utf8mb4_general_ci"};
    Database& database = existing.database();
    existing.load(former_project());
    // Another process has died between two columns, or before it could drop them.
    const bool has_all = GENERATE(false, true);
    apply_schema(database);
    for (const char* const name :
         {"masked_loss", "order_loss", "masked_accuracy", "order_accuracy"}) {
        database.execute(fmt::format("alter table dedloc_evaluation add column {} double", name));
        database.execute(
            fmt::format("update dedloc_evaluation e join dedloc_figure f on "
                        "f.runid = e.runid and f.step = e.step and f.name = '{0}' "
                        "set e.{0} = f.value",
                        name));
    }
    if (!has_all) database.execute("delete from dedloc_figure where name like 'order%'");
    CHECK(upgrade_schema(database) ==
          std::vector<std::string>{"the figures of dedloc_evaluation were moved to dedloc_figure"});
    CHECK(upgrade_schema(database).empty());
    check_figures(database);
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
