// A value that a column cannot hold is refused as such, in strict and in non-strict servers: it is
// neither cut nor a failure of the database, and names its column.
#include <fmt/format.h>

#include <limits>
#include <string>

#include "project_server/http/database_pool.hpp"
#include "tests/project_server/project_fixture.hpp"

namespace dedloc::server {
namespace {

/// The server's sql_mode while it lives, which new connections get.
class ServerMode {
  public:
    explicit ServerMode(const std::string& mode)
        : former_(administrator_.query_one("select @@global.sql_mode as mode")->text("mode")) {
        set(mode);
    }
    ~ServerMode() { set(former_); }
    ServerMode(const ServerMode&) = delete;
    ServerMode& operator=(const ServerMode&) = delete;

  private:
    void set(const std::string& mode) { administrator_.execute("set global sql_mode = ?", {mode}); }
    Database administrator_{mariadb_administrator(test_mariadb().place())};
    const std::string former_;
};

struct Refused {
    const char* sql;
    Parameter value;
    const char* column;
};

}  // namespace

TEST_CASE("a value that a column cannot hold is refused, and the connection goes on", "[server]") {
    const std::string mode = GENERATE("STRICT_TRANS_TABLES", "", "ANSI,NO_BACKSLASH_ESCAPES");
    INFO("sql_mode " << mode);
    const ServerMode strictness{mode};
    const TestProject project;
    Database database{project.config().database};
    database.execute("insert into user (email_addr, authenticator) values ('it\\'s', 'k')");
    for (const Refused& refused : std::initializer_list<Refused>{
             {"insert into team (name, name_lc) values (?, '')", std::string(255, 'x'), "name"},
             {"insert into team (name, name_lc) values (?, '')", "a\xFF", "name"},
             {"insert into team (userid, name) values (?, 'n')", 1LL << 40, "userid"},
             {"insert into team (userid, name) values (?, 'n')", "no number", "userid"},
             {"insert into team (userid, name) values (?, 'n')", nullptr, "userid"},
             {"insert into team (total_credit, name) values (?, 'n')",
              std::numeric_limits<double>::infinity(), "total_credit"},
             {"insert into team (userid, name) values (? + 9223372036854775807, 'n')", 1, ""},
             {"update user set posts = ?", 40'000, "posts"},
             {"update user set total_credit = ?", "1e999", "total_credit"},
             {"update user set global_prefs = ?", std::string(70'000, 'x'), "global_prefs"},
             {"insert into dedloc_news (created, title) values (?, 't')", 1, "body"},
             {"update user set name = ?", std::string(40 << 20, 'x'), ""}}) {
        INFO(refused.sql);
        for (int time = 1; time <= 3; ++time) {  // also prepared
            try {
                database.execute(refused.sql, {refused.value});
                FAIL("the value was stored");
            } catch (const RefusedData& error) {
                CHECK(error.column() == refused.column);
                CHECK_THAT(error.what(), Catch::Contains(std::string{refused.sql}.substr(0, 20)));
                CHECK_THAT(error.answer(), Catch::StartsWith("The project cannot store"));
            }
        }
        CHECK(database.query("select id from team").empty());
    }
    const auto user = database.query_one("select email_addr, name, posts from user");
    CHECK(user->text("email_addr") == "it's");
    CHECK(user->text("name").empty());
    CHECK(user->integer("posts") == 0);
}

TEST_CASE("a transaction with a refused value changes nothing", "[server]") {
    TestProject project;
    Database& database = project.database();
    const std::string too_long(300, 'x');
    const auto failing = [&] {
        in_transaction(database, [&] {
            database.execute("insert into app (name) values ('first')");
            database.defer("insert into app (name) values (?)", {too_long});
            database.execute_and_commit("insert into app (name) values ('last')");
        });
    };
    CHECK_THROWS_AS(failing(), RefusedData);
    CHECK(database.query("select id from app").empty());
    in_transaction(database, [&] { database.execute("insert into app (name) values ('next')"); });
    CHECK(database.query("select id from app").size() == 1);
}

TEST_CASE("other errors are not about a value", "[server]") {
    TestProject project;
    Database& database = project.database();
    database.execute("insert into app (name) values ('a')");
    CHECK_THROWS_AS(database.execute("insert into app (name) values ('a')"), DatabaseError);
    CHECK_THROWS_AS(database.execute("insert into app (nothing) values ('a')"), DatabaseError);
    CHECK_THROWS_AS(database.execute("insert into nowhere (name) values ('a')"), DatabaseError);
    CHECK_THROWS_AS(database.execute("select from"), DatabaseError);
    database.execute("insert into app (name) values ('A')");
    database.execute("insert into app (name) values ('a ')");
    CHECK(database.query("select id from app where name = 'a'").size() == 1);
}

TEST_CASE("a request with a refused value keeps its connection", "[server]") {
    const TestProject project;
    DatabasePool pool{project.config().database};
    const auto connection = [](Database& database) {
        return database.query_one("select connection_id() as id")->integer("id");
    };
    const auto first = pool.with(connection);
    CHECK_THROWS_AS(pool.with([](Database& database) {
        return database.execute("insert into app (name) values (?)", {std::string(300, 'x')});
    }),
                    RefusedData);
    CHECK(pool.with(connection) == first);
}

}  // namespace dedloc::server
