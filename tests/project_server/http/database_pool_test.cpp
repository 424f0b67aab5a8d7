#include "project_server/http/database_pool.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <latch>
#include <mutex>
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

TEST_CASE("requests get connections in the order in which they came", "[server]") {
    constexpr int kWaiting = 20;
    TestProject project;
    DatabasePool pool{project.config().database};
    std::mutex mutex;
    std::vector<int> served;
    const auto serve = [&](int request) {
        pool.with([&](Database&) {
            const std::lock_guard lock{mutex};
            served.push_back(request);
            return 0;
        });
    };
    std::vector<std::promise<void>> releases(DatabasePool::kMaxConnections);
    std::latch all_in_use{DatabasePool::kMaxConnections};
    std::vector<std::thread> threads;
    for (auto& release : releases) {
        threads.emplace_back([&] {
            pool.with([&](Database&) {
                all_in_use.count_down();
                release.get_future().wait();
                return 0;
            });
            serve(kWaiting);  // asks again at once, and comes after those that wait
        });
    }
    all_in_use.wait();
    for (std::size_t request = 0; request < kWaiting; ++request) {
        threads.emplace_back(serve, static_cast<int>(request));
        while (pool.waiting() <= request) std::this_thread::yield();
    }
    // One connection becomes free, so those that wait get it one after the other.
    releases.front().set_value();
    const auto count = [&] {
        const std::lock_guard lock{mutex};
        return served.size();
    };
    while (count() < kWaiting + 1) std::this_thread::yield();
    for (std::size_t i = 1; i < releases.size(); ++i) releases[i].set_value();
    for (std::thread& thread : threads) thread.join();
    for (int i = 0; i <= kWaiting; ++i) CHECK(served.at(static_cast<std::size_t>(i)) == i);
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
