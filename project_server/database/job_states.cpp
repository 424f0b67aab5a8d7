#include "project_server/database/job_states.hpp"

#include "project_server/database/states.hpp"

namespace dedloc::server {
namespace {

constexpr std::array<const char*, kJobStates> kNames{
    "unsent", "in_progress", "succeeded", "waiting",  "refused",
    "failed", "aborted",     "timed_out", "given_up", "not_needed"};

JobState state_of_success(ValidateState verdict) {
    switch (verdict) {
        case ValidateState::kValid:
            return JobState::kSucceeded;
        case ValidateState::kInit:
        case ValidateState::kInconclusive:
            return JobState::kWaiting;
        default:
            return JobState::kRefused;
    }
}

/// A client that aborts a job reports it as one that failed.
JobState state_of_failure(ExitStatus status) {
    switch (status) {
        case ExitStatus::kAbortedByProject:
            return JobState::kNotNeeded;
        case ExitStatus::kAbortedByVolunteer:
            return JobState::kAborted;
    }
    return JobState::kFailed;
}

}  // namespace

const char* name_of(JobState state) {
    return kNames.at(static_cast<std::size_t>(state));
}

JobState job_state_of(const Row& row) {
    const auto server_state = state_of<ServerState>(row, "server_state");
    if (server_state == ServerState::kInProgress) return JobState::kInProgress;
    if (server_state != ServerState::kOver) return JobState::kUnsent;
    switch (state_of<ResultOutcome>(row, "outcome")) {
        case ResultOutcome::kSuccess:
            return state_of_success(state_of<ValidateState>(row, "validate_state"));
        case ResultOutcome::kClientError:
            return state_of_failure(state_of<ExitStatus>(row, "exit_status"));
        case ResultOutcome::kNoReply:
            return JobState::kTimedOut;
        case ResultOutcome::kValidateError:
            return JobState::kRefused;
        case ResultOutcome::kDetached:
            return JobState::kGivenUp;
        default:
            return JobState::kNotNeeded;
    }
}

const char* task_state(const Row& row) {
    switch (job_state_of(row)) {
        case JobState::kUnsent:
            return "not sent";
        case JobState::kInProgress:
            return "in progress";
        case JobState::kSucceeded:
            return "valid";
        case JobState::kWaiting:
            return "waiting for validation";
        case JobState::kRefused:
            return "not valid";
        case JobState::kFailed:
            return "failed on the computer";
        case JobState::kAborted:
            return "aborted by the volunteer";
        case JobState::kTimedOut:
            return "not reported in time";
        case JobState::kGivenUp:
            return "given up by the computer";
        case JobState::kNotNeeded:
            break;
    }
    const auto outcome = state_of<ResultOutcome>(row, "outcome");
    const bool is_unneeded =
        outcome == ResultOutcome::kNotNeeded || outcome == ResultOutcome::kClientError;
    return is_unneeded ? "not needed any more" : "over";
}

JobCounts count_jobs(Database& database, const std::string& condition, Parameters parameters) {
    JobCounts counts;
    for (const Row& row : database.query(
             "select server_state, outcome, validate_state, exit_status, count(*) as n from result "
             "where " +
                 condition + " group by server_state, outcome, validate_state, exit_status",
             parameters)) {
        counts.add(job_state_of(row), row.integer("n"));
    }
    return counts;
}

}  // namespace dedloc::server
