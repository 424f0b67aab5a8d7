// Every state of a result times every report of it.
#include <boinc_db_types.h>

#include <catch2/catch.hpp>

#include "tests/project_server/scheduler/office.hpp"

namespace dedloc::server {
namespace {

struct State {
    const char* what;
    int server_state;
    int outcome;
    bool is_awaited;  ///< the report is stored
    int user = 1;
    int host = 1;
};

const std::vector<State>& states() {
    static const std::vector<State> all{
        {"in progress", RESULT_SERVER_STATE_IN_PROGRESS, RESULT_OUTCOME_INIT, true},
        {"in progress on another host of the account", RESULT_SERVER_STATE_IN_PROGRESS,
         RESULT_OUTCOME_INIT, true, 1, 2},
        {"in progress of another account", RESULT_SERVER_STATE_IN_PROGRESS, RESULT_OUTCOME_INIT,
         false, 2, 2},
        {"timed out", RESULT_SERVER_STATE_OVER, RESULT_OUTCOME_NO_REPLY, true},
        {"ended as detached", RESULT_SERVER_STATE_OVER, RESULT_OUTCOME_CLIENT_DETACHED, true},
        {"ended as detached on another host of the account", RESULT_SERVER_STATE_OVER,
         RESULT_OUTCOME_CLIENT_DETACHED, true, 1, 2},
        {"ended as detached, of another account", RESULT_SERVER_STATE_OVER,
         RESULT_OUTCOME_CLIENT_DETACHED, false, 2, 2},
        {"reported with success", RESULT_SERVER_STATE_OVER, RESULT_OUTCOME_SUCCESS, false},
        {"reported as failed", RESULT_SERVER_STATE_OVER, RESULT_OUTCOME_CLIENT_ERROR, false},
        {"found invalid", RESULT_SERVER_STATE_OVER, RESULT_OUTCOME_VALIDATE_ERROR, false},
        {"not needed", RESULT_SERVER_STATE_OVER, RESULT_OUTCOME_DIDNT_NEED, false},
        {"not sent", RESULT_SERVER_STATE_UNSENT, RESULT_OUTCOME_INIT, false, 0, 0},
        {"inactive", RESULT_SERVER_STATE_INACTIVE, RESULT_OUTCOME_INIT, false},
    };
    return all;
}

struct Report {
    const char* what;
    int exit_status;
    int client_state;
    int outcome;  ///< that it gives a result that awaits it
};

const std::vector<Report>& reports() {
    static const std::vector<Report> all{
        {"success", 0, 5, RESULT_OUTCOME_SUCCESS},
        {"error", 197, 3, RESULT_OUTCOME_CLIENT_ERROR},
        {"aborted", 203, 6, RESULT_OUTCOME_CLIENT_ERROR},
        {"failed upload", 0, 4, RESULT_OUTCOME_CLIENT_ERROR},
    };
    return all;
}

}  // namespace

TEST_CASE("every report of a result in every state is stored or already told", "[server][boinc]") {
    Office office{1};
    Database& database = office.project.database();
    office.ask("");
    int sequence = 1;
    for (const State& state : states()) {
        for (const Report& told : reports()) {
            INFO(state.what << ", reported: " << told.what);
            database.execute(
                "update result set server_state = ?, outcome = ?, userid = ?, hostid = ?, "
                "received_time = ?, validate_state = 0, exit_status = 77, stderr_out = 'first'",
                {state.server_state, state.outcome, state.user, state.host,
                 state.server_state == RESULT_SERVER_STATE_OVER ? 1 : 0});
            database.execute("update workunit set transition_time = ?", {INT32_MAX});
            const std::string reply =
                office.ask(report("w0_0", told.exit_status, told.client_state), 1, ++sequence);
            CHECK_THAT(reply, Catch::Contains("<result_ack>\n<name>w0_0</name>"));
            const Row row = office.result("w0_0");
            if (!state.is_awaited) {
                CHECK(row.integer("server_state") == state.server_state);
                CHECK(row.integer("outcome") == state.outcome);
                CHECK(row.integer("exit_status") == 77);
                CHECK(row.text("stderr_out") == "first");
                continue;
            }
            CHECK(row.integer("server_state") == RESULT_SERVER_STATE_OVER);
            CHECK(row.integer("outcome") == told.outcome);
            CHECK(row.integer("hostid") == 1);
            CHECK(row.integer("exit_status") == told.exit_status);
            CHECK(row.text("stderr_out") == "hi");
            CHECK(row.integer("received_time") == static_cast<std::int64_t>(office.now));
            CHECK(row.integer("validate_state") == (told.outcome == RESULT_OUTCOME_SUCCESS
                                                        ? VALIDATE_STATE_INIT
                                                        : VALIDATE_STATE_INVALID));
            CHECK(office.count("workunit where transition_time <= " +
                               std::to_string(static_cast<std::int64_t>(office.now))) == 1);
        }
    }
    database.execute("delete from result");
    CHECK_THAT(office.ask(report("w0_0"), 1, ++sequence), Catch::Contains("<result_ack>"));
}

TEST_CASE("a report that does not say how the task ended is not acknowledged", "[server][boinc]") {
    Office office{2};
    office.ask(kWantTwo);
    const std::string whole = report("w0_0");
    for (const std::string tag : {"<exit_status>", "</exit_status>", "<state>", "</state>"}) {
        INFO(tag);
        std::string damaged = whole;
        damaged.erase(damaged.find(tag), tag.size());
        office.now += kHostRefresh;
        const std::string reply = office.ask(damaged + report("none_0"), 1, 2);
        CHECK_THAT(reply, !Catch::Contains("<name>w0_0</name>"));
        CHECK_THAT(reply, Catch::Contains("<name>none_0</name>"));
        CHECK(office.result("w0_0").integer("server_state") == RESULT_SERVER_STATE_IN_PROGRESS);
    }
    CHECK_THAT(office.ask(whole, 1, 3), Catch::Contains("<name>w0_0</name>"));
    CHECK(office.result("w0_0").integer("outcome") == RESULT_OUTCOME_SUCCESS);
}

TEST_CASE("a damaged message keeps the others from being acknowledged, not from being stored",
          "[server][boinc]") {
    Office office{2};
    office.ask(kWantTwo);
    const std::string message =
        "<msg_from_host><result_name>w0_0</result_name><variety>dedloc_credit</variety>1"
        "</msg_from_host>";
    std::string damaged = message;
    damaged.erase(damaged.rfind("</msg"), 2);
    for (int sequence = 2; sequence < 4; ++sequence) {
        CHECK_THAT(office.ask(message + damaged, 1, sequence), !Catch::Contains("message_ack"));
        CHECK(office.count("msg_from_host") == 1);
    }
    CHECK_THAT(office.ask(message, 1, 4), Catch::Contains("<message_ack>1"));
}

}  // namespace dedloc::server
