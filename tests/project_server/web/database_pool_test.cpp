#include "project_server/web/database_pool.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "tests/project_server/project_fixture.hpp"

namespace dedloc::server {

TEST_CASE("more requests than the database accepts connections are all served", "[server]") {
    TestProject project;
    DatabasePool pool{project.config().database};
    std::atomic<int> served = 0;
    std::vector<std::thread> requests;
    // The database server accepts 100 connections, and the test has some of its own.
    for (int i = 0; i < 150; ++i) {
        requests.emplace_back([&] {
            try {
                served += pool.with([](Database& database) {
                    return static_cast<int>(
                        database.query_one("select sleep(0.05) + 1 as n")->integer("n"));
                });
            } catch (const DatabaseError&) {
                // Not served.
            }
        });
    }
    for (std::thread& request : requests) request.join();
    CHECK(served == 150);
}

TEST_CASE("work that throws does not use up the connections", "[server]") {
    TestProject project;
    DatabasePool pool{project.config().database};
    for (std::size_t i = 0; i < 2 * DatabasePool::kMaxConnections; ++i) {
        CHECK_THROWS_AS(
            pool.with([](Database& database) { return database.execute("no statement"); }),
            DatabaseError);
    }
    CHECK(pool.with([](Database& database) {
        return database.query_one("select 1 as n")->integer("n");
    }) == 1);
}

}  // namespace dedloc::server
