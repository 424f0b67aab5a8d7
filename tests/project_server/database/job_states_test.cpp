// The states of rows, and the states in which people count jobs.
#include "project_server/database/job_states.hpp"

#include <boinc_db_types.h>
#include <error_numbers.h>

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "project_server/database/states.hpp"
#include "tests/project_server/project_fixture.hpp"

namespace dedloc::server {
namespace {

template <class State>
constexpr int number(State state) {
    return static_cast<int>(state);
}

/// The states as conditions on a row.
constexpr std::pair<JobState, const char*> kConditions[] = {
    {JobState::kUnsent, "server_state not in (4, 5)"},
    {JobState::kInProgress, "server_state = 4"},
    {JobState::kSucceeded, "server_state = 5 and outcome = 1 and validate_state = 1"},
    {JobState::kWaiting, "server_state = 5 and outcome = 1 and validate_state in (0, 4)"},
    {JobState::kRefused,
     "server_state = 5 and (outcome = 6 or (outcome = 1 and validate_state not in (0, 1, 4)))"},
    {JobState::kFailed, "server_state = 5 and outcome = 3 and exit_status not in (202, 203)"},
    {JobState::kAborted, "server_state = 5 and outcome = 3 and exit_status = 203"},
    {JobState::kTimedOut, "server_state = 5 and outcome = 4"},
    {JobState::kGivenUp, "server_state = 5 and outcome = 7"},
    {JobState::kNotNeeded,
     "server_state = 5 and (outcome not in (1, 3, 4, 6, 7) or (outcome = 3 and exit_status = "
     "202))"},
};

}  // namespace

TEST_CASE("the states of rows have BOINC's numbers", "[server]") {
    CHECK(number(ServerState::kInactive) == RESULT_SERVER_STATE_INACTIVE);
    CHECK(number(ServerState::kUnsent) == RESULT_SERVER_STATE_UNSENT);
    CHECK(number(ServerState::kInProgress) == RESULT_SERVER_STATE_IN_PROGRESS);
    CHECK(number(ServerState::kOver) == RESULT_SERVER_STATE_OVER);
    CHECK(number(ResultOutcome::kInit) == RESULT_OUTCOME_INIT);
    CHECK(number(ResultOutcome::kSuccess) == RESULT_OUTCOME_SUCCESS);
    CHECK(number(ResultOutcome::kNotSent) == RESULT_OUTCOME_COULDNT_SEND);
    CHECK(number(ResultOutcome::kClientError) == RESULT_OUTCOME_CLIENT_ERROR);
    CHECK(number(ResultOutcome::kNoReply) == RESULT_OUTCOME_NO_REPLY);
    CHECK(number(ResultOutcome::kNotNeeded) == RESULT_OUTCOME_DIDNT_NEED);
    CHECK(number(ResultOutcome::kValidateError) == RESULT_OUTCOME_VALIDATE_ERROR);
    CHECK(number(ResultOutcome::kDetached) == RESULT_OUTCOME_CLIENT_DETACHED);
    CHECK(number(ValidateState::kInit) == VALIDATE_STATE_INIT);
    CHECK(number(ValidateState::kValid) == VALIDATE_STATE_VALID);
    CHECK(number(ValidateState::kInvalid) == VALIDATE_STATE_INVALID);
    CHECK(number(ValidateState::kNoCheck) == VALIDATE_STATE_NO_CHECK);
    CHECK(number(ValidateState::kInconclusive) == VALIDATE_STATE_INCONCLUSIVE);
    CHECK(number(ValidateState::kTooLate) == VALIDATE_STATE_TOO_LATE);
    CHECK(number(AssimilateState::kInit) == ASSIMILATE_INIT);
    CHECK(number(AssimilateState::kReady) == ASSIMILATE_READY);
    CHECK(number(AssimilateState::kDone) == ASSIMILATE_DONE);
    CHECK(number(FileDeleteState::kInit) == FILE_DELETE_INIT);
    CHECK(number(FileDeleteState::kReady) == FILE_DELETE_READY);
    CHECK(number(FileDeleteState::kDone) == FILE_DELETE_DONE);
    CHECK(number(FileDeleteState::kError) == FILE_DELETE_ERROR);
    CHECK(number(ExitStatus::kAbortedByProject) == EXIT_ABORTED_BY_PROJECT);
    CHECK(number(ExitStatus::kAbortedByVolunteer) == EXIT_ABORTED_VIA_GUI);
}

TEST_CASE("a state is a parameter of a statement and is read from a row", "[server]") {
    TestProject project;
    Database database{project.config().database};
    const auto row = database.query_one("select ? as outcome, ? as credit_state",
                                        {ResultOutcome::kNoReply, CreditState::kUnowned});
    CHECK(state_of<ResultOutcome>(*row, "outcome") == ResultOutcome::kNoReply);
    CHECK(state_of<CreditState>(*row, "credit_state") == CreditState::kUnowned);
}

TEST_CASE("every job is counted in the one state that its row has", "[server]") {
    TestProject project;
    Database database{project.config().database};
    database.execute(
        "insert into result (name, server_state, outcome, validate_state, exit_status, userid) "
        "select concat_ws('_', s.seq, o.seq, v.seq, e.seq), s.seq, o.seq, v.seq, e.seq, s.seq % 2 "
        "from seq_0_to_6 s join seq_0_to_8 o join seq_0_to_6 v join seq_192_to_208 e");
    const JobCounts all = count_jobs(database, "true");
    const JobCounts of_one = count_jobs(database, "userid = ?", {1});
    for (const auto& [state, condition] : kConditions) {
        const auto row = database.query_one(
            std::string{"select count(*) as jobs, coalesce(sum(userid = 1), 0) as of_one "
                        "from result where "} +
            condition);
        INFO(name_of(state));
        CHECK(all.of(state) == row->integer("jobs"));
        CHECK(of_one.of(state) == row->integer("of_one"));
    }
    CHECK(count_jobs(database, "userid = 7").of(JobState::kUnsent) == 0);
}

TEST_CASE("the words for a task follow its state", "[server]") {
    TestProject project;
    Database database{project.config().database};
    const auto words = [&](ServerState state, ResultOutcome outcome, ValidateState verdict,
                           int exit_status = 0) {
        const auto row = database.query_one(
            "select ? as server_state, ? as outcome, ? as validate_state, ? as exit_status",
            {state, outcome, verdict, exit_status});
        return std::string{task_state(*row)};
    };
    using enum ServerState;
    const auto none = ValidateState::kInit;
    CHECK(words(kUnsent, ResultOutcome::kInit, none) == "not sent");
    CHECK(words(kInProgress, ResultOutcome::kInit, none) == "in progress");
    CHECK(words(kOver, ResultOutcome::kSuccess, none) == "waiting for validation");
    CHECK(words(kOver, ResultOutcome::kSuccess, ValidateState::kValid) == "valid");
    CHECK(words(kOver, ResultOutcome::kSuccess, ValidateState::kNoCheck) == "not valid");
    CHECK(words(kOver, ResultOutcome::kClientError, none) == "failed on the computer");
    const auto refused = ValidateState::kInvalid;
    CHECK(words(kOver, ResultOutcome::kClientError, refused, EXIT_TIME_LIMIT_EXCEEDED) ==
          "failed on the computer");
    CHECK(words(kOver, ResultOutcome::kClientError, refused, EXIT_ABORTED_VIA_GUI) ==
          "aborted by the volunteer");
    CHECK(words(kOver, ResultOutcome::kClientError, refused, EXIT_ABORTED_BY_PROJECT) ==
          "not needed any more");
    CHECK(words(kOver, ResultOutcome::kNoReply, none) == "not reported in time");
    CHECK(words(kOver, ResultOutcome::kNotNeeded, none) == "not needed any more");
    CHECK(words(kOver, ResultOutcome::kNotSent, none) == "over");
    CHECK(words(kOver, ResultOutcome::kValidateError, none) == "not valid");
    CHECK(words(kOver, ResultOutcome::kDetached, none) == "given up by the computer");
}

}  // namespace dedloc::server
