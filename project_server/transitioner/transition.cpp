// Timeouts are applied to a copy of the results first, and everything else follows from counts over
// that copy. Errors come next: a workunit that has one gets no new result, its unsent results are
// dropped, and it is handed to the assimilator. Otherwise validation is asked for when there are
// enough successes, a canonical result drops the unsent ones, and without one the missing results
// are created, up to the limit on all.
#include "project_server/transitioner/transition.hpp"

#include <boinc_db_types.h>

#include <algorithm>
#include <charconv>

namespace dedloc::server {
namespace {

/// Counts over all results of a workunit.
struct Tally {
    int total = 0;
    int pending = 0;    ///< unsent or in progress
    int successes = 0;  ///< not judged invalid
    int errors = 0;
    bool could_not_send = false;
    bool unchecked_success = false;
    std::int64_t next_deadline = INT32_MAX;
};

Tally count(std::span<const ResultState> results) {
    Tally tally;
    for (const ResultState& result : results) {
        ++tally.total;
        if (result.server_state != ServerState::kOver) {
            ++tally.pending;
            if (result.server_state == ServerState::kInProgress) {
                tally.next_deadline = std::min(tally.next_deadline, result.report_deadline);
            }
            continue;
        }
        switch (result.outcome) {
            case ResultOutcome::kSuccess:
                if (result.validate_state == ValidateState::kInvalid) {
                    ++tally.errors;
                } else {
                    ++tally.successes;
                    tally.unchecked_success |= result.validate_state == ValidateState::kInit;
                }
                break;
            case ResultOutcome::kNotSent:
                tally.could_not_send = true;
                break;
            case ResultOutcome::kClientError:
            case ResultOutcome::kValidateError:
                ++tally.errors;
                break;
            default:
                break;  // no reply, did not need, client detached: not an error
        }
    }
    return tally;
}

int errors_of(const WorkunitState& workunit, const Tally& tally) {
    int mask = workunit.error_mask;
    if (workunit.has_canonical) return mask;
    if (tally.could_not_send) mask |= WU_ERROR_COULDNT_SEND_RESULT;
    if (tally.errors > workunit.max_error_results) mask |= WU_ERROR_TOO_MANY_ERROR_RESULTS;
    if (tally.successes > workunit.max_success_results) mask |= WU_ERROR_TOO_MANY_SUCCESS_RESULTS;
    return mask;
}

/// One above the highest N of the names NAME_N.
int next_suffix(std::span<const ResultState> results) {
    int next = 0;
    for (const ResultState& result : results) {
        const auto underscore = result.name.rfind('_');
        if (underscore == std::string::npos) continue;
        int suffix = -1;
        std::from_chars(result.name.data() + underscore + 1,
                        result.name.data() + result.name.size(), suffix);
        next = std::max(next, suffix + 1);
    }
    return next;
}

void drop_what_is_left(std::span<const ResultState> results, bool failed, Transition& transition) {
    for (const ResultState& result : results) {
        if (result.server_state == ServerState::kUnsent) {
            transition.not_needed.push_back(result.id);
        }
        if (failed && result.server_state == ServerState::kOver &&
            result.outcome == ResultOutcome::kSuccess &&
            result.validate_state == ValidateState::kInit) {
            transition.unchecked.push_back(result.id);
        }
    }
}

}  // namespace

Transition decide_transition(const WorkunitState& workunit, std::span<const ResultState> given,
                             std::int64_t now) {
    Transition transition;
    std::vector<ResultState> results{given.begin(), given.end()};
    for (ResultState& result : results) {
        if (result.server_state == ServerState::kInProgress && result.report_deadline <= now) {
            result.server_state = ServerState::kOver;
            result.outcome = ResultOutcome::kNoReply;
            transition.timed_out.push_back(result.id);
        }
    }
    const Tally tally = count(results);
    const int missing = workunit.target_results - tally.pending - tally.successes;
    const bool wants_more = !workunit.has_canonical && workunit.may_create && missing > 0;
    transition.error_mask = errors_of(workunit, tally);
    if (transition.error_mask == 0 && wants_more && tally.total >= workunit.max_total_results) {
        transition.error_mask = WU_ERROR_TOO_MANY_TOTAL_RESULTS;
    }
    transition.transition_time = tally.next_deadline;
    transition.assimilate_state = workunit.assimilate_state;
    if (transition.error_mask != 0) {
        drop_what_is_left(results, !workunit.has_canonical, transition);
        if (transition.assimilate_state == AssimilateState::kInit) {
            transition.assimilate_state = AssimilateState::kReady;
        }
        return transition;
    }
    const bool enough = workunit.has_canonical || tally.successes >= workunit.min_quorum;
    transition.need_validate = workunit.need_validate || (enough && tally.unchecked_success);
    if (workunit.has_canonical) {
        drop_what_is_left(results, false, transition);
    } else if (wants_more) {
        transition.new_results = std::min(missing, workunit.max_total_results - tally.total);
        transition.first_suffix = next_suffix(results);
    }
    return transition;
}

}  // namespace dedloc::server
