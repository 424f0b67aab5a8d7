// How many seats an account and a network may have, at the gateway's door: jobs of many accounts
// ask for tickets from many addresses.
#include <boinc_db_types.h>
#include <fmt/format.h>
#include <httplib.h>

#include <algorithm>
#include <future>
#include <iterator>
#include <map>
#include <thread>
#include <vector>

#include "peer/platform/clock.hpp"
#include "project_server/database/revocations.hpp"
#include "project_server/gateway/refusal_log.hpp"
#include "project_server/gateway/seat_limits.hpp"
#include "tests/project_server/gateway/gateway_fixture.hpp"

namespace dedloc::gateway {
namespace {

using Catch::Contains;

/// A job of an account, and the key of the peer that computes it.
struct Job {
    std::string name;
    std::int64_t account = 0;
    std::int64_t host = 0;
    PeerKey key = KeyPair::generate().public_key();
};

/// A gateway and accounts with jobs in progress.
class Town {
  public:
    Gateway& gateway() { return gateway_; }
    Database& database() { return gateway_.database(); }

    std::int64_t add_account() {
        const std::string name = fmt::format("account{}", ++accounts_);
        database().execute("insert into user (name, authenticator, email_addr) values (?, ?, ?)",
                           {name, name, name});
        const std::int64_t id = database().insert_id();
        keys_[id] = name;
        return id;
    }
    /// A job on a computer of its own.
    Job add_job(std::int64_t account) {
        Job job{.name = fmt::format("first_1_{}", ++jobs_), .account = account};
        database().execute("insert into host (userid) values (?)", {account});
        job.host = database().insert_id();
        database().execute(
            "insert into result (name, workunitid, hostid, userid, server_state) select ?, "
            "workunitid, ?, ?, server_state from result where name = 'first_1_0'",
            {job.name, job.host, account});
        return job;
    }
    std::vector<Job> add_jobs(std::int64_t account, int count) {
        std::vector<Job> jobs;
        for (int i = 0; i < count; ++i) jobs.push_back(add_job(account));
        return jobs;
    }
    void end(const Job& job) {
        database().execute("update result set server_state = ? where name = ?",
                           {RESULT_SERVER_STATE_OVER, job.name});
    }

    /// Starts the gateway again with other limits.
    void limit(const SeatLimits& limits) {
        gateway_.stop();
        gateway_.start({.seats = limits});
    }
    std::int64_t count(const std::string& from) {
        return database().query_one("select count(*) as n from " + from)->integer("n");
    }

    /// The gateway's answer to the job's request from this address.
    httplib::Response ask(const Job& job, const std::string& from) const {
        return ask(job, from, gateway_.url());
    }
    httplib::Response ask(const Job& job, const std::string& from, const std::string& url) const {
        httplib::Client client{url};
        client.set_read_timeout(30s);
        const auto reply = client.Post(
            "/dedloc/enrol", {{"X-Forwarded-For", from}},
            formats::write_enrolment_request({.authenticator = keys_.at(job.account),
                                              .host = static_cast<std::uint64_t>(job.host),
                                              .result = job.name,
                                              .key = job.key,
                                              .port = 0}),
            "application/json");
        return reply ? *reply : httplib::Response{};
    }
    bool has_ticket(const Job& job, const std::string& from) const {
        return ask(job, from).status == 200;
    }
    /// How many of the jobs get a ticket from this address.
    int tickets(const std::vector<Job>& jobs, const std::string& from) const {
        int count = 0;
        for (const Job& job : jobs) count += has_ticket(job, from) ? 1 : 0;
        return count;
    }

  private:
    Gateway gateway_;
    std::map<std::int64_t, std::string> keys_;
    int accounts_ = 0;
    int jobs_ = 0;
};

}  // namespace

TEST_CASE("an account has at most 64 seats, and a network of 24 or 48 bits 128", "[gateway]") {
    Town town;
    const auto first = town.add_jobs(town.add_account(), 66);
    CHECK(town.tickets(first, "127.0.0.1") == 64);  // in a laboratory, too
    const auto second = town.add_jobs(town.add_account(), 64);
    const auto third = town.add_jobs(town.add_account(), 64);
    const Job last = town.add_job(town.add_account());
    CHECK(town.tickets(second, "198.51.100.7") == 64);
    CHECK(town.tickets(third, "::ffff:198.51.100.8") == 64);
    CHECK_FALSE(town.has_ticket(last, "198.51.100.9"));
    CHECK(town.has_ticket(last, "198.51.101.9"));
}

TEST_CASE("a job without a seat is told why it waits, and is not refused", "[gateway]") {
    Town town;
    town.limit({.of_account = 1, .of_network = 2});
    const auto ann = town.add_jobs(town.add_account(), 2);
    REQUIRE(town.has_ticket(ann[0], "2001:db8:1:2::3"));
    const auto of_account = town.ask(ann[1], "2001:db8:1:2::3");
    CHECK(of_account.status == 503);
    CHECK(formats::is_enrolment_full(of_account.body));
    CHECK_FALSE(formats::is_enrolment_refusal(of_account.body));
    CHECK(formats::parse_enrolment_error(of_account.body) ==
          "this account has as many jobs in the swarm as the project allows, 1 "
          "(seats_per_account): this one waits until another one ends");
    REQUIRE(town.has_ticket(town.add_job(town.add_account()), "2001:db8:1:ffff::1"));
    const auto of_network = town.ask(town.add_job(town.add_account()), "2001:db8:1::1");
    CHECK(of_network.status == 503);
    CHECK(formats::is_enrolment_full(of_network.body));
    CHECK_THAT(formats::parse_enrolment_error(of_network.body),
               Contains("this computer's network has as many jobs") &&
                   Contains("allows, 2 (seats_per_network)") && !Contains("2001"));
    CHECK(town.has_ticket(town.add_job(town.add_account()), "2001:db8:2::1"));
    CHECK(town.count("dedloc_suspicion") == 0);
}

TEST_CASE("a job that asks in vain ends its attempt at once, with the reason", "[gateway]") {
    Gateway gateway;
    gateway.stop();
    gateway.start({.seats = {.of_account = 1}});
    gateway.database().execute(
        "insert into result (name, workunitid, hostid, userid, server_state) select 'first_1_1', "
        "workunitid, hostid, userid, server_state from result");
    REQUIRE(net::enrol(gateway.options(), kWanted));
    auto other = gateway.options();
    other.request.result = "first_1_1";
    other.request.key = KeyPair::generate().public_key();
    other.timeout = 10min;  // it would wait so long for a gateway that is away
    CHECK_THROWS_WITH(
        net::enrol(other, kWanted),
        Catch::StartsWith("the project has no seat for this job now: this account has as many"));
    CHECK_THROWS_AS(net::enrol(other, kWanted), IoError);
}

TEST_CASE("a job keeps its seat, also with another key and under lower limits", "[gateway]") {
    Town town;
    auto jobs = town.add_jobs(town.add_account(), 4);
    REQUIRE(town.tickets(jobs, "198.51.100.7") == 4);
    town.limit({.of_account = 1, .of_network = 1});
    CHECK(town.tickets(jobs, "198.51.100.8") == 4);
    CHECK_FALSE(town.has_ticket(town.add_job(jobs[0].account), "203.0.113.1"));
    jobs[0].key = KeyPair::generate().public_key();
    CHECK(town.has_ticket(jobs[0], "198.51.100.8"));
    CHECK(town.count("dedloc_ticket where network <> '198.51.100.0/24'") == 0);
    // A seat that was lost, as of a computer that was off for a day, is asked for like a new one.
    town.database().execute(
        "update dedloc_ticket set expires = unix_timestamp() where resultid = "
        "(select id from result where name = ?)",
        {jobs[1].name});
    CHECK_FALSE(town.has_ticket(jobs[1], "198.51.100.8"));
    CHECK(town.has_ticket(jobs[2], "198.51.100.8"));
}

TEST_CASE("limits of 0 are none, and addresses that are not public have only the account's",
          "[gateway]") {
    Town town;
    town.limit({.of_account = 2, .of_network = 1});
    for (const char* const address : {"127.0.0.1", "10.1.2.3", "192.168.0.9", "100.64.1.2",
                                      "169.254.1.1", "172.31.0.1", "fd00::1", "fe80::1", "::1"}) {
        INFO(address);
        CHECK(town.tickets(town.add_jobs(town.add_account(), 3), address) == 2);
    }
    town.limit({.of_account = 0, .of_network = 0});
    CHECK(town.tickets(town.add_jobs(town.add_account(), 200), "198.51.100.7") == 200);
}

TEST_CASE("a job that moves keeps its seat, and counts where it is", "[gateway]") {
    Town town;
    town.limit({.of_account = 0, .of_network = 2});
    const Job laptop = town.add_job(town.add_account());
    const Job other = town.add_job(town.add_account());
    REQUIRE(town.has_ticket(laptop, "198.51.100.7"));
    REQUIRE(town.has_ticket(other, "198.51.100.7"));
    const Job third = town.add_job(town.add_account());
    CHECK_FALSE(town.has_ticket(third, "198.51.100.8"));
    CHECK(town.has_ticket(laptop, "203.0.113.1"));
    CHECK(town.has_ticket(third, "198.51.100.8"));
    // Back where no seat is free now: it keeps its own one, which counts where it was.
    CHECK(town.has_ticket(laptop, "198.51.100.9"));
    CHECK(town.has_ticket(town.add_job(town.add_account()), "203.0.113.2"));
    CHECK_FALSE(town.has_ticket(town.add_job(town.add_account()), "203.0.113.2"));
    CHECK(town.has_ticket(laptop, "198.51.100.9"));
    town.end(other);
    CHECK(town.has_ticket(laptop, "198.51.100.9"));
    CHECK(town.has_ticket(town.add_job(town.add_account()), "203.0.113.2"));
}

TEST_CASE("the owner of two networks gets the seats of two, however jobs move", "[gateway]") {
    Town town;
    town.limit({.of_account = 0, .of_network = 3});
    const std::string networks[] = {"198.51.100.7", "203.0.113.7"};
    std::vector<Job> holders;
    const std::int64_t owner = town.add_account();
    for (int turn = 0; turn < 6; ++turn) {
        for (const Job& job : holders) CHECK(town.has_ticket(job, networks[turn % 2]));
        for (const Job& job : town.add_jobs(owner, 4)) {
            for (const auto& network : networks) {
                if (!town.has_ticket(job, network)) continue;
                holders.push_back(job);
                break;
            }
        }
    }
    CHECK(holders.size() == 6);
}

TEST_CASE("concurrent requests at two gateways get no more seats than there are", "[gateway]") {
    Town town;
    const TicketLimits limits{.seats = {.of_account = 7, .of_network = 10}};
    town.limit(limits.seats);
    const auto second = town.gateway().another(0, limits);
    std::thread serving{[&] { second->run(); }};
    const std::string urls[] = {town.gateway().url(),
                                "http://127.0.0.1:" + std::to_string(second->port())};
    std::vector<Job> jobs;
    for (int i = 0; i < 3; ++i)
        std::ranges::move(town.add_jobs(town.add_account(), 12), std::back_inserter(jobs));
    std::vector<std::future<int>> answers;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        answers.push_back(std::async(std::launch::async, [&, i] {
            // The first account asks from a laboratory.
            const char* const from = i < 12 ? "10.0.0.1" : "198.51.100.7";
            for (;;) {
                const auto answer = town.ask(jobs[i], from, urls[i % 2]);
                // Too many at once: nothing is known about a seat.
                if (answer.status == 503 && !formats::is_enrolment_full(answer.body)) continue;
                return answer.status;
            }
        }));
    }
    std::map<int, int> first;
    std::map<int, int> others;
    for (std::size_t i = 0; i < answers.size(); ++i) ++(i < 12 ? first : others)[answers[i].get()];
    second->stop();
    serving.join();
    CHECK(first == std::map<int, int>{{200, 7}, {503, 5}});
    CHECK(others == std::map<int, int>{{200, 10}, {503, 14}});
}

TEST_CASE("a request in vain waits for no other one", "[gateway]") {
    Town town;
    town.limit({.of_account = 1, .of_network = 0});
    const auto jobs = town.add_jobs(town.add_account(), 2);
    const Job other = town.add_job(town.add_account());
    REQUIRE(town.has_ticket(jobs[0], "198.51.100.7"));
    Database database{town.gateway().database_settings()};
    const SeatTurn turn{database, {.user = other.account, .network = "198.51.100.0/24", .now = {}}};
    CHECK(formats::is_enrolment_full(town.ask(jobs[1], "198.51.100.7").body));
    CHECK(town.has_ticket(jobs[0], "198.51.100.7"));
    const auto busy = town.ask(other, "198.51.100.7");
    CHECK(busy.status == 503);
    CHECK(formats::parse_enrolment_error(busy.body) ==
          "others ask for seats now: try again in a minute");
}

TEST_CASE("the tickets of ended jobs are no seats, and there are no more of them than seats",
          "[gateway]") {
    Town town;
    town.limit({.of_account = 3, .of_network = 5});
    const std::int64_t ann = town.add_account();
    const auto valid = [&] {
        return town.count(
            "dedloc_ticket t where not exists (select 1 from dedloc_revocation r where r.subject = "
            "t.peer_key)");
    };
    std::vector<Job> jobs = town.add_jobs(ann, 3);
    REQUIRE(town.tickets(jobs, "198.51.100.7") == 3);
    for (int i = 0; i < 8; ++i) {
        town.end(jobs[static_cast<std::size_t>(i)]);
        jobs.push_back(town.add_job(ann));
        CHECK(town.has_ticket(jobs.back(), "198.51.100.7"));
        CHECK(valid() == 3);
    }
    // The oldest went first, and what is revoked is published.
    const auto revoked = server::recent_revocations(town.database(), platform::utc_now()).peers;
    CHECK(revoked.size() == 8);
    CHECK(revoked.contains(jobs[0].key));
    CHECK_FALSE(revoked.contains(jobs[10].key));
    // One account after another in the same network.
    for (int i = 0; i < 3; ++i) {
        const auto others = town.add_jobs(town.add_account(), 2);
        CHECK(town.tickets(others, "198.51.100.8") == 2);
        CHECK(valid() <= 5);
        for (const Job& job : others) town.end(job);
    }
}

TEST_CASE("a banned account without a free seat is refused, not put off", "[gateway]") {
    Town town;
    town.limit({.of_account = 1, .of_network = 0});
    const auto jobs = town.add_jobs(town.add_account(), 2);
    REQUIRE(town.has_ticket(jobs[0], "198.51.100.7"));
    server::revoke(town.database(),
                   {.as_of = {},
                    .users = {static_cast<std::uint64_t>(jobs[0].account)},
                    .hosts = {},
                    .peers = {}},
                   formats::UtcSeconds{1s});
    CHECK(formats::is_enrolment_refusal(town.ask(jobs[1], "198.51.100.7").body));
}

TEST_CASE("refusals are logged once an hour for each holder of seats, with their number",
          "[gateway]") {
    RefusalLog log;
    const RefusalLog::Clock::time_point begin{};
    CHECK(log.count("account 1", begin) == 1);
    CHECK_FALSE(log.count("account 1", begin + 1s));
    CHECK(log.count("network 198.51.100.0/24", begin + 2s) == 1);
    CHECK_FALSE(log.count("account 1", begin + 59min));
    CHECK(log.count("account 1", begin + 1h) == 3);
    CHECK_FALSE(log.count("account 1", begin + 61min));
    // Many accounts do not fill the memory; the one that was logged longest ago is forgotten.
    for (std::size_t i = 0; i < RefusalLog::kMaxRemembered; ++i) {
        CHECK(log.count(fmt::format("other {}", i), begin + 62min) == 1);
    }
    CHECK(log.count("account 1", begin + 63min) == 1);
}

}  // namespace dedloc::gateway
