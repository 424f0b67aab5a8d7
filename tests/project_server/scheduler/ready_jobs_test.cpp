// The jobs that the scheduler keeps in memory, where the database has changed meanwhile.
#include <boinc_db_types.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "tests/project_server/scheduler/office.hpp"

namespace dedloc::server {
namespace {

const std::string kNewHost = std::string{kWantTwo} + "<allow_multiple_clients/>";

}  // namespace

TEST_CASE("jobs that are over, cancelled or deleted are not sent from memory", "[server][boinc]") {
    Office office{5};
    REQUIRE(sent(office.ask(kNewHost)) == 1);
    const auto rest =
        office.project.database().query("select id, workunitid from result where server_state = 2");
    REQUIRE(rest.size() == 4);
    Database& database = office.project.database();
    database.execute("update result set server_state = 5 where id = ?", {rest[0].integer("id")});
    database.execute("update workunit set error_mask = ? where id = ?",
                     {WU_ERROR_CANCELLED, rest[1].integer("workunitid")});
    database.execute("delete from result where id = ?", {rest[2].integer("id")});
    CHECK(sent(office.ask(kNewHost)) == 1);
    CHECK(office.count("result where server_state = 4 and hostid = 2 and id = " +
                       rest[3].text("id")) == 1);
    CHECK(sent(office.ask(kNewHost)) == 0);
    CHECK(office.count("result where server_state = 4") == 2);
}

TEST_CASE("a job of a request that fails is sent to the next host", "[server][boinc]") {
    Office office{1};
    Database& database = office.project.database();
    office.ask(kNewHost + "<other_results></other_results>", 0, 1);
    database.execute("update result set server_state = 2, hostid = 0");
    database.execute("alter table host_app_version rename to away");
    CHECK_THROWS_AS(office.ask(kNewHost), DatabaseError);
    database.execute("alter table away rename to host_app_version");
    CHECK(office.count("result where server_state = 4") == 0);
    CHECK(sent(office.ask(kNewHost)) == 1);
}

TEST_CASE("a new job is sent although others are in memory", "[server][boinc]") {
    Office office{1};
    CHECK(sent(office.ask(kNewHost)) == 1);
    CHECK(sent(office.ask(kNewHost)) == 0);
    office.project.database().execute(
        "update result set server_state = 2, hostid = 0 where server_state = 4");
    CHECK(sent(office.ask(kNewHost)) == 1);
}

TEST_CASE("concurrent hosts of two servers get each job once", "[server][boinc]") {
    constexpr int kServers = 2;
    constexpr int kThreads = 4;  // that each server has
    constexpr int kJobs = 200;
    Office office{kJobs};
    // All of them belong to one account.
    std::ofstream{office.project.root() / "config.xml"}
        << "<boinc><config><max_new_hosts_per_day>1000</max_new_hosts_per_day>"
        << "<max_jobs_without_credit>1000</max_jobs_without_credit></config></boinc>";
    std::vector<std::unique_ptr<Scheduler>> servers;
    std::vector<std::thread> threads;
    std::atomic<int> received = 0;
    std::atomic<int> failed = 0;
    for (int i = 0; i < kServers; ++i) {
        servers.push_back(std::make_unique<Scheduler>(office.config));
        for (int k = 0; k < kThreads; ++k) {
            threads.emplace_back([&, scheduler = servers.back().get()] {
                try {
                    Database database{office.config.database};
                    for (;;) {
                        const int jobs = sent(scheduler->serve(
                            database, office.request(kNewHost, 0, 1), "10.0.0.1", office.now));
                        if (jobs == 0) return;
                        received += jobs;
                    }
                } catch (const std::exception&) {
                    ++failed;
                }
            });
        }
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(failed == 0);
    CHECK(received == kJobs);
    CHECK(office.count("result where server_state = 4") == kJobs);
    CHECK(office.count("(select hostid from result group by hostid) as h") == kJobs);
}

}  // namespace dedloc::server
