#include "project_server/database/database.hpp"

#include <boinc_db.h>

#include <catch2/catch.hpp>
#include <future>
#include <string>
#include <vector>

#include "tests/project_server/project_fixture.hpp"

namespace dedloc::server {

// At its start mariadbd deletes all temporary tables in its tmpdir, also those of other servers:
// with /tmp for all, a quarter of the databases initialised at the same time failed.
TEST_CASE("databases can be initialised concurrently", "[server]") {
    const TemporaryDirectory directory;
    std::vector<std::future<void>> made;
    for (int i = 0; i < 6; ++i) {
        const MariadbPlace place{.directory = directory.path() / std::to_string(i), .port = 0};
        made.push_back(std::async(std::launch::async, [=] { initialise_mariadb(place); }));
    }
    for (auto& one : made) CHECK_NOTHROW(one.get());
}

TEST_CASE("the database returns the inserted values", "[server]") {
    TestProject project;
    Database& database = project.database();
    const std::string odd = "it's a \"test\" \\ with ? and \xC3\xA9 and 50%";
    database.execute(
        "insert into user (name, email_addr, authenticator, total_credit) "
        "values (?, ?, ?, ?)",
        {odd, "a@b", "k", 0.1});
    const auto row = database.query_one(
        "select name, total_credit, posts, country from user "
        "where id = ?",
        {database.insert_id()});
    REQUIRE(row);
    CHECK(row->text("name") == odd);
    CHECK(row->real("total_credit") == 0.1);
    CHECK(row->integer("posts") == 0);
    CHECK(row->text("country").empty());
    CHECK_FALSE(database.query_one("select id from user where name = ?", {"nobody"}));
    CHECK(database.execute("update user set name = name where email_addr = ?", {"a@b"}) == 1);
}

TEST_CASE("a failed statement says why", "[server]") {
    TestProject project;
    try {
        project.database().query("select nothing from nowhere");
        FAIL("there is no such table");
    } catch (const DatabaseError& error) {
        CHECK_THAT(error.what(), Catch::Contains("nowhere"));
        CHECK_FALSE(error.is_away());
    }
    DatabaseSettings wrong = project.config().database;
    wrong.password = "wrong";
    CHECK_THROWS_WITH(Database{wrong}, Catch::Contains("Access denied"));
}

TEST_CASE("a transaction is atomic", "[server]") {
    TestProject project;
    Database& database = project.database();
    const auto count = [&] {
        return database.query_one("select count(*) as n from app")->integer("n");
    };
    {
        const Transaction dropped{database};
        database.execute("insert into app (name) values ('a')");
    }
    CHECK(count() == 0);
    in_transaction(database, [&] { database.execute("insert into app (name) values ('a')"); });
    CHECK(count() == 1);
    try {
        database.execute("insert into app (name) values ('a')");
        FAIL("the name is taken");
    } catch (const DatabaseError& error) {
        CHECK(error.is_duplicate());
    }
}

TEST_CASE("statements of one message are executed in order until one fails", "[server]") {
    TestProject project;
    Database& database = project.database();
    Batch batch{database};
    batch.add("insert into app (name) values (?), ('b')", {"a;b"});
    batch.add("update app set user_friendly_name = 'x' where name = ?", {"a;b"});
    batch.add("select name from app order by name");
    const auto outcomes = batch.run();
    REQUIRE(outcomes.size() == 3);
    CHECK(outcomes[0].matched == 2);
    CHECK(outcomes[1].matched == 1);
    REQUIRE(outcomes[2].rows.size() == 2);
    CHECK(outcomes[2].rows[0].text("name") == "a;b");
    CHECK(batch.run().empty());

    batch.add("delete from app where name = 'b'");
    batch.add("insert into app (name) values ('a;b')");
    batch.add("delete from app");
    try {
        (void)batch.run();
        FAIL("the name is taken");
    } catch (const DatabaseError& error) {
        CHECK(error.is_duplicate());
        CHECK_THAT(error.what(), Catch::Contains("insert into app"));
    }
    CHECK(database.query_one("select count(*) as n from app")->integer("n") == 1);
}

TEST_CASE("deferred statements are executed before the next one", "[server]") {
    TestProject project;
    Database& database = project.database();
    const auto count = [&] {
        return database.query_one("select count(*) as n from app")->integer("n");
    };
    in_transaction(database, [&] {
        database.defer("insert into app (name) values (?)", {"a"});
        CHECK(count() == 1);
        database.defer("insert into app (name) values ('b')");
    });
    CHECK(count() == 2);
    CHECK_THROWS_AS(in_transaction(database,
                                   [&] {
                                       database.execute("delete from app where name = 'a'");
                                       database.defer("insert into app (name) values ('b')");
                                   }),
                    DatabaseError);
    CHECK(count() == 2);
    {
        const Transaction dropped{database};
        database.defer("delete from app");
    }
    CHECK(count() == 2);
}

TEST_CASE("a statement can depend on the row count of the one before", "[server]") {
    TestProject project;
    Database& database = project.database();
    database.execute("insert into app (name) values ('a'), ('b')");
    for (const char* const name : {"a", "c"}) {
        in_transaction(database, [&] {
            // The row matches but does not change.
            database.defer("update app set name = name where name = ?", {name});
            CHECK(database.execute(
                      "update app set weight = 2 where name = 'b' and row_count() > 0") ==
                  (std::string_view{name} == "a" ? 1 : 0));
        });
    }
}

TEST_CASE("a statement can commit its transaction in the same message", "[server]") {
    TestProject project;
    Database& database = project.database();
    Database other{project.config().database};
    database.execute("insert into app (name) values ('a')");
    const auto weight = [&] {
        return other.query_one("select weight from app where name = 'a'")->real("weight");
    };
    for (int time = 1; time <= 3; ++time) {  // also prepared
        in_transaction(database, [&] {
            database.defer("update app set weight = weight + 1 where name = ?", {"a"});
            CHECK(database.execute_and_commit("update app set weight = 0 where name = ?",
                                              {"none"}) == 0);
            CHECK(database.execute_and_commit("update app set weight = ? where name = ?",
                                              {10 * time, "a"}) == 1);
            CHECK(weight() == 10 * time);
        });
        {
            const Transaction dropped{database};
            database.execute("update app set weight = ?", {7});
            CHECK(database.execute_and_commit("update app set weight = 0 where name = ?",
                                              {"none"}) == 0);
        }
        CHECK(weight() == 10 * time);
    }
}

TEST_CASE("a statement that fails before the commit fails the transaction", "[server]") {
    TestProject project;
    Database& database = project.database();
    database.execute("insert into app (name, weight) values ('a', 1)");
    for (int time = 1; time <= 3; ++time) {  // also prepared
        const auto failing = [&] {
            const Transaction dropped{database};
            database.defer("update app set weight = 5 where name = ?", {"a"});
            database.defer("insert into app (name) values (?)", {"a"});
            database.execute_and_commit("update app set weight = ? where name = 'a'", {time});
        };
        CHECK_THROWS_AS(failing(), DatabaseError);
        CHECK(database.query_one("select weight from app where name = 'a'")->real("weight") == 1);
    }
    // A text is not taken for a part of the statement.
    const std::string text = "'; end; commit; select \"?\" -- ";
    in_transaction(database, [&] {
        database.defer("update app set user_friendly_name = ? where name = 'a'", {text});
        CHECK(database.execute_and_commit("update app set weight = 2 where name = ?", {"a"}) == 1);
    });
    CHECK(database.query_one("select user_friendly_name from app where name = 'a'")
              ->text("user_friendly_name") == text);
}

TEST_CASE("the schema may be applied twice", "[server]") {
    TestProject project;
    apply_schema(project.database());
    CHECK(project.database().query("select name from platform").size() == 5);
}

TEST_CASE("libsched reads and writes the tables of the schema", "[server]") {
    TestProject project;
    open_boinc_database(project.config());
    DB_PLATFORM platform;
    REQUIRE(platform.lookup("where name='x86_64-pc-linux-gnu'") == 0);
    CHECK(platform.id > 0);
    DB_USER user;
    user.clear();
    std::snprintf(user.name, sizeof(user.name), "%s", "Ada");
    std::snprintf(user.email_addr, sizeof(user.email_addr), "%s", "ada@b");
    CHECK(user.insert() == 0);
    DB_HOST host;
    host.clear();
    host.p_ncpus = 7;
    host.gpu_active_frac = 0.5;
    REQUIRE(host.insert() == 0);
    DB_HOST found;
    REQUIRE(found.lookup_id(boinc_db.insert_id()) == 0);
    CHECK(found.p_ncpus == 7);
    CHECK(found.gpu_active_frac == 0.5);
    DB_WORKUNIT workunit;
    workunit.clear();
    workunit.rsc_fpops_est = 5;
    workunit.app_version_num = 101;
    CHECK(workunit.insert() == 0);
    DB_WORKUNIT again;
    REQUIRE(again.lookup_id(boinc_db.insert_id()) == 0);
    CHECK(again.app_version_num == 101);
    CHECK(again.rsc_fpops_est == 5);
    DB_RESULT result;
    result.clear();
    result.peak_disk_usage = 3;
    std::snprintf(result.name, sizeof(result.name), "%s", "w_0");
    CHECK(result.insert() == 0);
    DB_RESULT same;
    REQUIRE(same.lookup("where name='w_0'") == 0);
    CHECK(same.peak_disk_usage == 3);
    DB_APP_VERSION version;
    version.clear();
    CHECK(version.insert() == 0);
    DB_APP app;
    app.clear();
    CHECK(app.insert() == 0);
    DB_TEAM team;
    team.clear();
    CHECK(team.insert() == 0);
    DB_HOST_APP_VERSION host_version;
    host_version.clear();
    CHECK(host_version.insert() == 0);
    DB_MSG_FROM_HOST message;
    message.clear();
    CHECK(message.insert() == 0);
    close_boinc_database();
}

TEST_CASE("a project without a usable config.xml is refused in one sentence", "[server]") {
    const TemporaryDirectory empty;
    CHECK_THROWS_WITH(load_project_config(empty.path()), Catch::Contains("no config.xml"));
    std::ofstream{empty.path() / "config.xml"} << "<boinc><config></config></boinc>";
    CHECK_THROWS_WITH(load_project_config(empty.path()), Catch::Contains("<long_name>"));
}

TEST_CASE("the configuration is read from config.xml", "[server]") {
    TestProject project{8080};
    CHECK(project.config().master_url == "http://127.0.0.1:8080/");
    CHECK(project.config().scheduler_url() == "http://127.0.0.1:8080/cgi/scheduler");
    CHECK(project.config().cpu_seats == 1);
    CHECK(project.config().seats_per_gpu == 1);
    CHECK(project.config().min_rpc_seconds == 2);
    CHECK(project.config().next_rpc_seconds == 5);
    CHECK(project.config().directory_fanout == 1024);
}

}  // namespace dedloc::server
