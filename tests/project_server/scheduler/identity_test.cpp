// Which host a request is of: copied disks and folders, restored backups, several clients of one
// machine, and changes of a computer.
#include <boinc_db_types.h>

#include <catch2/catch.hpp>

#include "project_server/database/revocations.hpp"
#include "tests/project_server/scheduler/office.hpp"

namespace dedloc::server {
namespace {

/// A client and its computer, as its requests describe them.
struct Client {
    Office& office;
    std::string cpid = "c";
    std::string model = "Intel i5";
    std::string system = "Linux Debian";
    std::string version = "12";
    std::string memory = "8e9";
    std::string name = "desk";
    std::string jobs{};  ///< <other_result> elements of what it has
    std::string id = "0";
    int sequence = 0;

    /// Sends a request and does what a client does with the reply.
    std::string ask(const std::string& extra = "") {
        const std::string reply = office.scheduler->serve(
            office.project.database(),
            "<scheduler_request><authenticator>key</authenticator><hostid>" + id +
                "</hostid><rpc_seqno>" + std::to_string(sequence) +
                "</rpc_seqno><platform_name>x86_64-pc-linux-gnu</platform_name><host_info>"
                "<domain_name>" +
                name + "</domain_name><host_cpid>" + cpid +
                "</host_cpid><p_ncpus>2</p_ncpus><p_vendor>GenuineIntel</p_vendor><p_model>" +
                model + "</p_model><m_nbytes>" + memory + "</m_nbytes><os_name>" + system +
                "</os_name><os_version>" + version +
                "</os_version><d_free>1e11</d_free></host_info><other_results>" + jobs +
                "</other_results>" + extra + "</scheduler_request>",
            "10.0.0.1", office.now);
        office.now += 1;
        ++sequence;
        const std::string given = between(reply, "<hostid>", "</hostid>");
        if (!given.empty()) {
            if (id != "0") cpid += "'";
            id = given;
            sequence = 0;
        }
        for (std::size_t at = 0; (at = reply.find("<wu_name>", at)) != std::string::npos; ++at) {
            const std::string job = between(reply.substr(at), "<name>", "</name>");
            jobs += "<other_result><name>" + job + "</name></other_result>";
        }
        return reply;
    }
    /// Asks for a job; returns its name.
    std::string work() {
        const std::string before = jobs;
        (void)ask(kWantTwo);
        return between(jobs.substr(before.size()), "<name>", "</name>");
    }
    /// Reports a job with success; whether that is acknowledged.
    bool finish(const std::string& job) {
        jobs.clear();
        return between(ask(report(job)), "<result_ack>", "</result_ack>").find(job) !=
               std::string::npos;
    }

    static std::string between(const std::string& text, const std::string& begin,
                               const std::string& end) {
        const auto at = text.find(begin);
        if (at == std::string::npos) return {};
        const auto from = at + begin.size();
        return text.substr(from, text.find(end, from) - from);
    }
};

/// Both have a job, neither has the other's, and both are accepted.
void check_both_work(Office& office, Client& first, Client& second) {
    const std::string one = first.work();
    REQUIRE_FALSE(one.empty());
    (void)second.ask();
    const std::string other = second.work();
    REQUIRE_FALSE(other.empty());
    CHECK(one != other);
    CHECK(office.result(one).integer("server_state") == RESULT_SERVER_STATE_IN_PROGRESS);
    CHECK_THAT(first.ask(), !Catch::Contains("<result_abort"));
    CHECK_THAT(second.ask(), !Catch::Contains("<result_abort"));
    CHECK(first.id != second.id);
    CHECK(first.finish(one));
    CHECK(second.finish(other));
    CHECK(office.result(one).integer("outcome") == RESULT_OUTCOME_SUCCESS);
    CHECK(office.result(other).integer("outcome") == RESULT_OUTCOME_SUCCESS);
    // Each goes on with its row.
    const std::int64_t hosts = office.count("host");
    for (int i = 0; i < 3; ++i) {
        (void)first.ask();
        (void)second.ask();
        office.now += kHostRefresh / 2;
    }
    CHECK(office.count("host") == hosts);
}

}  // namespace

TEST_CASE("two computers with one CPID both keep their work", "[server][boinc]") {
    Office office{4};
    Client first{office};
    Client second{office};
    SECTION("another processor") {
        second.model = "AMD Ryzen";
    }
    SECTION("another memory") {
        second.memory = "16e9";
    }
    SECTION("another system") {
        second.system = "Windows";
    }
    SECTION("another version of the system") {
        second.version = "11";
    }
    SECTION("another name") {
        second.name = "lap";
    }
    SECTION("equal computers") {}
    check_both_work(office, first, second);
    CHECK(office.count("host") == 2);
}

TEST_CASE("a copied client folder becomes another host, and both keep their work",
          "[server][boinc]") {
    Office office{4};
    Client first{office};
    (void)first.ask();
    (void)first.ask();
    Client copy = first;
    SECTION("on another processor") {
        copy.model = "AMD Ryzen";
    }
    SECTION("on another processor, and ahead of the original") {
        copy.model = "AMD Ryzen";
        copy.sequence += 5;
    }
    SECTION("on an equal computer of another name") {
        copy.name = "lap";
    }
    SECTION("on another system") {
        copy.system = "Windows";
    }
    SECTION("on an equal computer, later") {
        (void)first.ask();
    }
    check_both_work(office, first, copy);
    CHECK(copy.cpid != first.cpid);
}

TEST_CASE("a copy that has the original's job reports it from its own host", "[server][boinc]") {
    Office office{2};
    Client first{office};
    (void)first.ask();
    const std::string job = first.work();
    Client copy = first;
    copy.model = "AMD Ryzen";
    CHECK_THAT(copy.ask(), !Catch::Contains("<result_abort"));
    CHECK(copy.id == "2");
    CHECK(copy.finish(job));
    CHECK(first.finish(job));
    CHECK(office.result(job).integer("outcome") == RESULT_OUTCOME_SUCCESS);
}

TEST_CASE("a restored client is another host only once", "[server][boinc]") {
    Office office{2};
    Client client{office};
    (void)client.ask();
    for (int i = 0; i < 5; ++i) {
        (void)client.ask();
        office.now += kHostRefresh;
    }
    client.sequence = 1;
    for (int i = 0; i < 5; ++i) {
        (void)client.ask();
        office.now += kHostRefresh;
    }
    CHECK(office.count("host") == 2);
    CHECK(client.id == "2");
}

TEST_CASE("a computer that changes stays the same host", "[server][boinc]") {
    Office office{1};
    Client client{office};
    (void)client.ask();
    (void)client.ask();
    client.memory = "32e9";
    (void)client.ask();
    client.version = "13";
    (void)client.ask();
    client.name = "new";
    office.now += kHostRefresh;
    (void)client.ask();
    client.memory = "31.7e9";
    (void)client.ask();
    client.cpid = "another";
    (void)client.ask();
    CHECK(client.id == "1");
    CHECK(office.count("host") == 1);
    // A number that cannot be read is no old one.
    CHECK_THAT(office.ask("", 1, 0), Catch::Contains("<hostid>2</hostid>"));
    const std::string unreadable =
        "<scheduler_request><authenticator>key</authenticator><hostid>1</hostid><rpc_seqno>x"
        "</rpc_seqno></scheduler_request>";
    CHECK_THAT(office.scheduler->serve(office.project.database(), unreadable, "a", office.now),
               !Catch::Contains("<hostid>"));
    CHECK(office.project.database()
              .query_one("select rpc_seqno from host where id = 1")
              ->integer("rpc_seqno") > 0);
}

TEST_CASE("a client that is attached anew gets its host back unless that has jobs",
          "[server][boinc]") {
    Office office{3};
    Client client{office};
    (void)client.ask();
    const std::string job = client.work();
    Client anew{office};
    SECTION("it has nothing in progress") {
        CHECK(client.finish(job));
        (void)anew.ask();
        CHECK(anew.id == "1");
    }
    SECTION("it lists what is in progress") {
        anew.jobs = client.jobs;
        (void)anew.ask();
        CHECK(anew.id == "1");
        CHECK(office.result(job).integer("server_state") == RESULT_SERVER_STATE_IN_PROGRESS);
    }
    SECTION("it has lost what is in progress") {
        const std::string reply = anew.ask(kWantTwo);
        CHECK(anew.id == "2");
        CHECK_THAT(reply, !Catch::Contains("<name>" + job + "</name>"));
        CHECK(sent(reply) == 1);
        CHECK(office.result(job).integer("server_state") == RESULT_SERVER_STATE_IN_PROGRESS);
    }
    SECTION("the host is another account's") {
        office.project.database().execute("update host set userid = 9");
        anew.id = "1";
        (void)anew.ask();
        CHECK(anew.id == "2");
    }
    SECTION("the host is banned") {
        revoke(office.project.database(), {.as_of = {}, .users = {}, .hosts = {1}, .peers = {}},
               formats::UtcSeconds{std::chrono::seconds{1'800'000'000}});
        CHECK_THAT(anew.ask(kWantTwo), Catch::Contains("The project has banned this computer"));
        CHECK(anew.id == "1");
    }
    CHECK(office.count("result where outcome = 7") == 0);
}

TEST_CASE("messages of a job are stored whichever host of the account has it", "[server][boinc]") {
    Office office{1};
    Client first{office};
    (void)first.ask();
    const std::string job = first.work();
    Client copy = first;
    copy.system = "Windows";
    CHECK_THAT(copy.ask("<msg_from_host><result_name>" + job +
                        "</result_name><variety>dedloc_credit</variety></msg_from_host>"),
               Catch::Contains("<message_ack>1"));
    CHECK(copy.id == "2");
    CHECK(office.count("msg_from_host where hostid = 1") == 1);
}

}  // namespace dedloc::server
