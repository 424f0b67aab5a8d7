// Requests with values that the database refuses: the columns are made narrower than what a request
// may have.
#include "tests/project_server/scheduler/office.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;

/// A host whose name is in Cyrillic letters.
constexpr const char* kNamed =
    "<host_info><p_ncpus>2</p_ncpus><m_nbytes>8e9</m_nbytes><host_cpid>c</host_cpid>"
    "<domain_name>\u043A\u043E\u043C\u043F\u044C\u044E\u0442\u0435\u0440</domain_name>"
    "<d_free>1e11</d_free></host_info>";

}  // namespace

TEST_CASE("a host whose description is refused gets its reply and its jobs", "[server]") {
    Office office{2};
    // The first as a database with latin1 does it; the second takes no text at all.
    const std::string change = GENERATE(
        "alter table host modify domain_name varchar(254) character set latin1 not null default ''",
        "alter table host modify domain_name varchar(0) not null default ''");
    office.project.database().execute(change);
    const std::string reply = office.ask(std::string{kNamed} + kWantTwo);
    CHECK_THAT(reply, Contains("<hostid>") && Contains("<workunit>"));
    CHECK_THAT(reply, !Contains("project_is_down"));
    CHECK(office.count("host") == 1);
    const auto host = office.project.database().query_one("select id from host")->integer("id");
    const std::string again =
        office.ask(std::string{kNamed} + report("w0_0"), static_cast<int>(host), 2);
    CHECK_THAT(again, Contains("<result_ack>"));
    CHECK(office.result("w0_0").integer("server_state") == RESULT_SERVER_STATE_OVER);
    CHECK(office.result("w0_0").text("stderr_out") == "hi");
}

TEST_CASE("a result is stored without the text that is refused, and other texts wait", "[server]") {
    Office office{2};
    office.ask(kWantTwo);
    office.project.database().execute("alter table result modify stderr_out varchar(1) not null");
    const std::string reply =
        office.ask(report("w0_0") +
                       "<msg_from_host><result_name>w1_0</result_name><variety>dedloc_credit"
                       "</variety></msg_from_host>",
                   1, 2);
    CHECK_THAT(reply, Contains("<result_ack>") && Contains("w0_0"));
    CHECK_THAT(reply, !Contains("<message_ack") && !Contains("project_is_down"));
    CHECK(office.result("w0_0").integer("outcome") == RESULT_OUTCOME_SUCCESS);
    CHECK(office.count("msg_from_host") == 0);
}

TEST_CASE("a request of which nothing can be stored gets a sentence, and changes nothing",
          "[server]") {
    Office office{2};
    office.ask(kWantTwo);
    office.project.database().execute("alter table result modify received_time tinyint");
    const std::string reply = office.ask(report("w0_0"), 1, 2);
    CHECK_THAT(reply, Contains("The project cannot store a value of this request "
                               "(received_time)."));
    CHECK_THAT(reply, Contains("<request_delay>") && !Contains("<result_ack>") &&
                          !Contains("project_is_down"));
    CHECK(office.result("w0_0").integer("server_state") == RESULT_SERVER_STATE_IN_PROGRESS);
}

}  // namespace dedloc::server
