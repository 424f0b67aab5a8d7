// The states in which people count jobs and read of them. Every row of `result` is in one of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// A state of a job.
enum class JobState : std::uint8_t {
    kUnsent,      ///< no volunteer has had it
    kInProgress,  ///< a volunteer has it
    kSucceeded,   ///< it is valid
    kWaiting,     ///< the validator has not decided yet
    kRefused,     ///< it is not valid
    kFailed,      ///< the client reported a failure
    kAborted,     ///< the volunteer aborted it
    kTimedOut,    ///< not reported in time
    kGivenUp,     ///< its client has left the project or started anew
    kNotNeeded,   ///< it ended in another way
};
/// Their number. kNotNeeded is the last one.
inline constexpr std::size_t kJobStates = static_cast<std::size_t>(JobState::kNotNeeded) + 1;
/// Those of jobs that have ended and brought nothing, although their volunteers did not abort them.
inline constexpr std::array kFailedStates{JobState::kRefused, JobState::kFailed,
                                          JobState::kTimedOut, JobState::kGivenUp};

/// As statistics call it, for example "in_progress".
const char* name_of(JobState state);

/// The state of a row that has server_state, outcome, validate_state and exit_status.
JobState job_state_of(const Row& row);

/// What happened to a task, in words. The row has the same columns.
const char* task_state(const Row& row);

/// Numbers of jobs by state.
class JobCounts {
  public:
    /// The number of jobs in a state.
    std::int64_t of(JobState state) const { return counts_[static_cast<std::size_t>(state)]; }
    /// The number of jobs in kFailedStates.
    std::int64_t failed() const {
        std::int64_t jobs = 0;
        for (const JobState state : kFailedStates) jobs += of(state);
        return jobs;
    }
    /// Counts jobs.
    void add(JobState state, std::int64_t jobs) {
        counts_[static_cast<std::size_t>(state)] += jobs;
    }

  private:
    std::array<std::int64_t, kJobStates> counts_{};
};

/// Counts the rows of `result` that meet a condition of SQL. Errors: DatabaseError.
JobCounts count_jobs(Database& database, const std::string& condition, Parameters parameters = {});

}  // namespace dedloc::server
