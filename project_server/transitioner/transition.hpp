// Decides what happens to a workunit after its results have changed: a pure function, so that every
// case can be tested. The rules are those of BOINC's transitioner.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "project_server/database/states.hpp"

namespace dedloc::server {

/// Columns of a `workunit` row.
struct WorkunitState {
    int min_quorum = 1;           ///< successes needed before validation
    int target_results = 1;       ///< results that should be pending or successful
    int max_error_results = 0;    ///< more errors: the workunit fails
    int max_total_results = 0;    ///< limit on all results
    int max_success_results = 0;  ///< more successes without a canonical result: it fails
    int error_mask = 0;           ///< BOINC's WU_ERROR_* bits
    bool has_canonical = false;   ///< a valid result has been chosen
    bool need_validate = false;   ///< the validator has work
    AssimilateState assimilate_state = AssimilateState::kInit;  ///< BOINC's column
    bool may_create = true;  ///< false: transitioner_flags forbid new results
};

/// Columns of a `result` row.
struct ResultState {
    std::int64_t id = 0;                                  ///< key of the row
    std::string name;                                     ///< name of the workunit, "_", a number
    ServerState server_state{};                           ///< where it is
    ResultOutcome outcome = ResultOutcome::kInit;         ///< how it ended
    ValidateState validate_state = ValidateState::kInit;  ///< its verdict
    std::int64_t report_deadline = 0;                     ///< Unix time, seconds
};

/// Changes to make to a workunit and its results.
struct Transition {
    std::vector<std::int64_t> timed_out;   ///< ids of results to end with "no reply"
    std::vector<std::int64_t> not_needed;  ///< ids of unsent results to end with "did not need"
    std::vector<std::int64_t> unchecked;   ///< ids of successes that will never be validated
    int new_results = 0;                   ///< number of results to create
    int first_suffix = 0;                  ///< number in the first new result's name
    // New values of the workunit's columns.
    int error_mask = 0;
    bool need_validate = false;
    AssimilateState assimilate_state = AssimilateState::kInit;  ///< BOINC's column
    /// When to look at the workunit again; INT32_MAX: only after a change.
    std::int64_t transition_time = 0;
};

/// Decides the next transition at Unix time `now`.
///
/// Before  `results` are all results of the workunit, in any order
/// After   timeouts are applied; at most max_total_results results will exist
Transition decide_transition(const WorkunitState& workunit, std::span<const ResultState> results,
                             std::int64_t now);

}  // namespace dedloc::server
