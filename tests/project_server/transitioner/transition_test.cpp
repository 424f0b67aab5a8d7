#include "project_server/transitioner/transition.hpp"

#include <boinc_db_types.h>

#include <catch2/catch.hpp>

namespace dedloc::server {
namespace {

constexpr std::int64_t kNow = 1000;

WorkunitState job() {
    return {.min_quorum = 1,
            .target_results = 1,
            .max_error_results = 2,
            .max_total_results = 4,
            .max_success_results = 2};
}
ResultState unsent(std::int64_t id) {
    return {.id = id, .name = "w_" + std::to_string(id), .server_state = ServerState::kUnsent};
}
ResultState sent(std::int64_t id, std::int64_t deadline) {
    ResultState result = unsent(id);
    result.server_state = ServerState::kInProgress;
    result.report_deadline = deadline;
    return result;
}
ResultState over(std::int64_t id, ResultOutcome outcome,
                 ValidateState validate_state = ValidateState::kInit) {
    ResultState result = unsent(id);
    result.server_state = ServerState::kOver;
    result.outcome = outcome;
    result.validate_state = validate_state;
    return result;
}

}  // namespace

TEST_CASE("a new workunit gets its results", "[server]") {
    WorkunitState workunit = job();
    workunit.target_results = 3;
    const Transition t = decide_transition(workunit, {}, kNow);
    CHECK(t.new_results == 3);
    CHECK(t.first_suffix == 0);
    CHECK(t.error_mask == 0);
    CHECK(t.transition_time == INT32_MAX);
}

TEST_CASE("a result that is never reported is replaced under a new name", "[server]") {
    const std::vector results{sent(0, kNow)};
    const Transition t = decide_transition(job(), results, kNow);
    CHECK(t.timed_out == std::vector<std::int64_t>{0});
    CHECK(t.new_results == 1);
    CHECK(t.first_suffix == 1);
    const Transition early = decide_transition(job(), results, kNow - 1);
    CHECK(early.timed_out.empty());
    CHECK(early.new_results == 0);
    CHECK(early.transition_time == kNow);
}

TEST_CASE("a success only calls the validator", "[server]") {
    const Transition t =
        decide_transition(job(), std::vector{over(0, ResultOutcome::kSuccess)}, kNow);
    CHECK(t.need_validate);
    CHECK(t.new_results == 0);
    CHECK(t.error_mask == 0);
    WorkunitState pair = job();
    pair.min_quorum = 2;
    pair.target_results = 2;
    const Transition half =
        decide_transition(pair, std::vector{over(0, ResultOutcome::kSuccess)}, kNow);
    CHECK_FALSE(half.need_validate);
    CHECK(half.new_results == 1);
}

TEST_CASE("an invalid result is replaced", "[server]") {
    const std::vector results{over(0, ResultOutcome::kSuccess, ValidateState::kInvalid)};
    const Transition t = decide_transition(job(), results, kNow);
    CHECK_FALSE(t.need_validate);
    CHECK(t.new_results == 1);
}

TEST_CASE("too many errors end a workunit", "[server]") {
    const std::vector results{over(0, ResultOutcome::kClientError),
                              over(1, ResultOutcome::kClientError),
                              over(2, ResultOutcome::kClientError), unsent(3)};
    const Transition t = decide_transition(job(), results, kNow);
    CHECK(t.error_mask == WU_ERROR_TOO_MANY_ERROR_RESULTS);
    CHECK(t.not_needed == std::vector<std::int64_t>{3});
    CHECK(t.new_results == 0);
    CHECK(t.assimilate_state == AssimilateState::kReady);
}

TEST_CASE("the number of results is limited", "[server]") {
    std::vector<ResultState> results;
    for (std::int64_t i = 0; i < 4; ++i) results.push_back(over(i, ResultOutcome::kNoReply));
    const Transition t = decide_transition(job(), results, kNow);
    CHECK(t.error_mask == WU_ERROR_TOO_MANY_TOTAL_RESULTS);
    CHECK(t.new_results == 0);
}

TEST_CASE("a cancelled workunit ends its unsent results", "[server]") {
    WorkunitState workunit = job();
    workunit.error_mask = WU_ERROR_CANCELLED;
    const std::vector results{unsent(0), over(1, ResultOutcome::kSuccess)};
    const Transition t = decide_transition(workunit, results, kNow);
    CHECK(t.not_needed == std::vector<std::int64_t>{0});
    CHECK(t.unchecked == std::vector<std::int64_t>{1});
    CHECK_FALSE(t.need_validate);
}

TEST_CASE("unsent results are not needed once a result is canonical", "[server]") {
    WorkunitState workunit = job();
    workunit.has_canonical = true;
    const std::vector results{over(0, ResultOutcome::kSuccess, ValidateState::kValid), unsent(1)};
    const Transition t = decide_transition(workunit, results, kNow);
    CHECK(t.not_needed == std::vector<std::int64_t>{1});
    CHECK(t.new_results == 0);
    CHECK(t.error_mask == 0);
}

TEST_CASE("no combination of three results creates more than the limit", "[server]") {
    const auto make = [](int kind, std::int64_t id) {
        if (kind == 0) return unsent(id);
        if (kind == 1) return sent(id, kNow - 1);
        if (kind == 2) return sent(id, kNow + 9);
        return over(id, ResultOutcome{kind - 2}, ValidateState{(kind + static_cast<int>(id)) % 3});
    };
    for (int code = 0; code < 1000; ++code) {
        const std::vector results{make(code % 10, 0), make(code / 10 % 10, 1), make(code / 100, 2)};
        for (const bool canonical : {false, true}) {
            WorkunitState workunit = job();
            workunit.target_results = 3;
            workunit.has_canonical = canonical;
            const Transition t = decide_transition(workunit, results, kNow);
            CHECK(static_cast<int>(results.size()) + t.new_results <= workunit.max_total_results);
            CHECK((t.new_results == 0 || (t.error_mask == 0 && !canonical)));
            CHECK(t.transition_time > kNow);
        }
    }
}

}  // namespace dedloc::server
