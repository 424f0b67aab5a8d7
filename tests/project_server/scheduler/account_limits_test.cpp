// What one account may take, so that others get jobs, too.
#include "project_server/scheduler/account_limits.hpp"

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/project_server/scheduler/office.hpp"

namespace dedloc::server {
namespace {

/// A request of a new client on another computer.
std::string ask_as_new(Office& office, const std::string& authenticator = "key") {
    office.now += 1;
    const std::string text = "<scheduler_request><authenticator>" + authenticator +
                             "</authenticator><hostid>0</hostid><rpc_seqno>1</rpc_seqno>" +
                             "<platform_name>x86_64-pc-linux-gnu</platform_name><host_info>" +
                             "<p_ncpus>2</p_ncpus><m_nbytes>8e9</m_nbytes><d_free>1e11</d_free>" +
                             "</host_info>" + kWantTwo + "</scheduler_request>";
    return office.scheduler->serve(office.project.database(), text, "10.0.0.1", office.now);
}

}  // namespace

TEST_CASE("an account adds no more computers a day than it may", "[server][boinc]") {
    const AccountLimits limits;
    Office office{0};
    for (int i = 0; i < limits.new_hosts; ++i) {
        CHECK_THAT(ask_as_new(office), Catch::Contains("<hostid>"));
    }
    const std::string refusal = ask_as_new(office);
    CHECK_THAT(refusal, Catch::Contains("This account has added 50 computers in 24 hours"));
    CHECK_THAT(refusal, !Catch::Contains("<hostid>"));
    CHECK(office.count("host") == limits.new_hosts);
    // Its computers and other accounts are served, and a day later also this computer.
    CHECK_THAT(office.ask(kWantTwo, 7, 2), !Catch::Contains("computers in 24 hours"));
    office.project.database().execute(
        "insert into user (email_addr, authenticator) values ('c@d', 'other')");
    CHECK_THAT(ask_as_new(office, "other"), Catch::Contains("<hostid>"));
    office.now += 86'400;
    CHECK_THAT(ask_as_new(office), Catch::Contains("<hostid>"));
}

TEST_CASE("computers without credit leave jobs to other accounts", "[server][boinc]") {
    const AccountLimits limits;
    Office office{static_cast<int>(limits.jobs_without_credit) + 8};
    Database& database = office.project.database();
    int jobs = 0;
    for (int i = 0; i < 40; ++i) jobs += sent(ask_as_new(office));
    CHECK(jobs == limits.jobs_without_credit);
    CHECK_THAT(ask_as_new(office), Catch::Contains("that have no credit yet have as many tasks"));
    database.execute("insert into user (email_addr, authenticator) values ('c@d', 'other')");
    CHECK(sent(ask_as_new(office, "other")) == 1);
    // Computers with credit do not count.
    database.execute("update host set total_credit = 1 where id = 1");
    CHECK(sent(ask_as_new(office)) == 1);
    CHECK(sent(ask_as_new(office)) == 0);
}

TEST_CASE("an administrator may change the limits of accounts", "[server][boinc]") {
    const TestProject project;
    const auto with = [&](const std::string& elements) {
        std::ofstream{project.root() / "config.xml"} << "<boinc>\n<config>\n"
                                                     << elements << "</config>\n</boinc>\n";
        return read_account_limits(project.root());
    };
    CHECK(with("").new_hosts == 50);
    const auto limits = with(
        "<max_new_hosts_per_day>300</max_new_hosts_per_day>\n"
        "<max_jobs_without_credit>600</max_jobs_without_credit>\n");
    CHECK(limits.new_hosts == 300);
    CHECK(limits.jobs_without_credit == 600);
    CHECK_THROWS_AS(with("<max_new_hosts_per_day>many</max_new_hosts_per_day>\n"), InputError);
}

}  // namespace dedloc::server
