// The states in which people count jobs, as conditions on a row of `result`. Every row is in one of
// them. BOINC's numbers: server_state 2 unsent, 4 in progress, 5 over; outcome 1 success,
// 3 failed on the client, 4 no reply, 5 not needed, 6 refused, 7 detached; validate_state 0 not
// looked at, 1 valid, 4 undecided.
#pragma once

#include <array>
#include <string>

namespace dedloc::server {

/// A state.
struct JobState {
    const char* name;       ///< as statistics call it
    const char* condition;  ///< SQL
};

/// All of them.
inline constexpr std::array<JobState, 9> kJobStates{{
    {"unsent", "server_state not in (4, 5)"},
    {"in_progress", "server_state = 4"},
    {"succeeded", "server_state = 5 and outcome = 1 and validate_state = 1"},
    {"waiting", "server_state = 5 and outcome = 1 and validate_state in (0, 4)"},
    {"refused",
     "server_state = 5 and (outcome = 6 or (outcome = 1 and validate_state not in (0, 1, 4)))"},
    {"failed", "server_state = 5 and outcome = 3"},
    {"timed_out", "server_state = 5 and outcome = 4"},
    {"given_up", "server_state = 5 and outcome = 7"},
    {"not_needed", "server_state = 5 and outcome not in (1, 3, 4, 6, 7)"},
}};

/// The columns of a select that counts the jobs in each state, named as the states.
inline std::string job_state_counts() {
    std::string columns;
    for (const JobState& state : kJobStates) {
        if (!columns.empty()) columns += ", ";
        columns += "coalesce(sum(" + std::string{state.condition} + "), 0) as " + state.name;
    }
    return columns;
}

}  // namespace dedloc::server
