#include "project_server/database/prepared_statements.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/project_server/project_fixture.hpp"

namespace dedloc::server {
namespace {

std::string select(std::size_t i) {
    return "select " + std::to_string(i);
}

/// Statements that the server has prepared for this connection.
std::int64_t prepared(Database& database) {
    return database.query_one("show session status like 'Prepared_stmt_count'")->integer("Value");
}

}  // namespace

TEST_CASE("a statement is prepared when it is repeated", "[server]") {
    PreparedStatements statements;
    statements.begin_message();
    CHECK_FALSE(statements.use(select(1)));
    statements.begin_message();
    const auto use = statements.use(select(1));
    REQUIRE(use);
    CHECK(use->is_new);
    CHECK_FALSE(statements.use(select(1))->is_new);  // in the same message
    statements.confirm(use->slot);
    statements.begin_message();
    CHECK(statements.use(select(1))->slot == use->slot);
    CHECK_FALSE(statements.use(select(1))->is_new);
}

TEST_CASE("a statement whose preparation failed is prepared again", "[server]") {
    PreparedStatements statements;
    for (int i = 0; i < 3; ++i) {
        statements.begin_message();
        const auto use = statements.use(select(1));
        CHECK(use.has_value() == (i > 0));
        if (use) CHECK(use->is_new);
    }
}

TEST_CASE("the statement that was not used for longest makes way for a new one", "[server]") {
    PreparedStatements statements;
    const auto prepare = [&](std::size_t i) {
        for (int time = 0; time < 2; ++time) {
            statements.begin_message();
            const auto use = statements.use(select(i));
            if (use && use->is_new) statements.confirm(use->slot);
        }
    };
    for (std::size_t i = 0; i < PreparedStatements::kMax; ++i) prepare(i);
    prepare(0);
    prepare(PreparedStatements::kMax);
    statements.begin_message();
    CHECK_FALSE(statements.use(select(0))->is_new);
    CHECK_FALSE(statements.use(select(PreparedStatements::kMax))->is_new);
    CHECK(statements.use(select(1))->is_new);
}

TEST_CASE("a message with more statements than can be prepared sends the others as text",
          "[server]") {
    PreparedStatements statements;
    std::size_t uses = 0;
    for (int time = 0; time < 2; ++time) {
        statements.begin_message();
        for (std::size_t i = 0; i < 2 * PreparedStatements::kMax; ++i) {
            if (statements.use(select(i))) ++uses;
        }
    }
    CHECK(uses == PreparedStatements::kMax);
}

TEST_CASE("only statements whose parameters are values are prepared", "[server]") {
    PreparedStatements statements;
    for (const char* const sql : {"start transaction", "create user ?", "show tables"}) {
        for (int time = 0; time < 3; ++time) {
            statements.begin_message();
            CHECK_FALSE(statements.use(sql));
        }
    }
}

TEST_CASE("prepared statements read and write as their text does", "[server]") {
    TestProject project;
    Database& database = project.database();
    const std::int64_t before = prepared(database);
    for (const char* const name : {"a", "it's \\ \"b\"", "\xC3\xA9; select 1", ""}) {
        INFO(name);
        database.execute("insert into app (name, weight, min_version) values (?, ?, ?)",
                         {name, 0.1, -3});
        const auto row = database.query_one(
            "select id, name, weight, min_version, null as nothing from app where name = ?",
            {name});
        REQUIRE(row);
        CHECK(row->integer("id") == database.insert_id());
        CHECK(row->text("name") == name);
        CHECK(row->real("weight") == 0.1);
        CHECK(row->integer("min_version") == -3);
        CHECK(row->is_null("nothing"));
        CHECK(database.execute("update app set user_friendly_name = ? where name = ?",
                               {nullptr, "none"}) == 0);
        // The row matches but does not change.
        CHECK(database.execute("update app set weight = ? where name = ?", {0.1, name}) == 1);
    }
    CHECK(prepared(database) - before == 4);
    // The same in one message with others, and after another row count.
    for (const char* const name : {"a", "none", "a"}) {
        in_transaction(database, [&] {
            database.defer("update app set name = name where name = ?", {name});
            CHECK(database.execute("update app set weight = weight + ? where name = 'a' and "
                                   "row_count() > 0",
                                   {1}) == (std::string_view{name} == "a" ? 1 : 0));
        });
    }
    CHECK(database.query_one("select weight from app where name = ?", {"a"})->real("weight") ==
          2.1);
    CHECK(database.query("select id from app order by id limit ?", {2}).size() == 2);
    CHECK(database.query("select id from app order by id limit ?", {3}).size() == 3);
}

TEST_CASE("a prepared statement that fails leaves the connection as it was", "[server]") {
    TestProject project;
    Database& database = project.database();
    for (int time = 0; time < 4; ++time) {
        CHECK_THROWS_AS(database.query("select nothing from nowhere"), DatabaseError);
        database.execute("delete from app where name = ?", {"a"});
        database.execute("insert into app (name) values (?)", {"a"});
        try {
            database.execute("insert into app (name) values (?)", {"a"});
            FAIL("the name is taken");
        } catch (const DatabaseError& error) {
            CHECK(error.is_duplicate());
        }
        CHECK(database.query_one("select count(*) as n from app")->integer("n") == 1);
    }
    // A table that changes is read as it is then.
    database.execute("alter table app add column other integer not null default 7");
    CHECK(database.query_one("select * from app where name = ?", {"a"})->integer("other") == 7);
    database.execute("alter table app drop column other");
    CHECK(database.query_one("select * from app where name = ?", {"a"})->text("name") == "a");
}

}  // namespace dedloc::server
