// What becomes of a workunit when something happened to its results: a pure function, so that every
// case can be tested. The rules are those of BOINC's transitioner.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dedloc::server {

struct WorkunitState {
    int min_quorum = 1;
    int target_results = 1;
    int max_error_results = 0;
    int max_total_results = 0;
    int max_success_results = 0;
    int error_mask = 0;
    bool has_canonical = false;
    bool need_validate = false;
    int assimilate_state = 0;
    bool may_create = true;  ///< false: transitioner_flags forbid new results
};

struct ResultState {
    std::int64_t id = 0;
    std::string name;
    int server_state = 0;
    int outcome = 0;
    int validate_state = 0;
    std::int64_t report_deadline = 0;
};

struct Transition {
    std::vector<std::int64_t> timed_out;   ///< over, no reply
    std::vector<std::int64_t> not_needed;  ///< unsent results: over, did not need
    std::vector<std::int64_t> unchecked;   ///< successes of a failed workunit: never validated
    int new_results = 0;
    int first_suffix = 0;  ///< of the new results' names
    int error_mask = 0;
    bool need_validate = false;
    int assimilate_state = 0;
    std::int64_t transition_time =
        0;  ///< when to look again; INT32_MAX: not before something happens
};

/// Before   `results` are all of the workunit's.      Order  results in any.
/// After    time-outs are applied; no more than max_total_results results exist in the end.
Transition decide_transition(const WorkunitState& workunit, std::span<const ResultState> results,
                             std::int64_t now);

}  // namespace dedloc::server
