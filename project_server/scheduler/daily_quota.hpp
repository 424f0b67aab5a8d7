// How many jobs a host may get in a day, so that a host on which every job fails does not use up
// the project's jobs: BOINC's daily_result_quota and the columns max_jobs_per_day and n_jobs_today
// of host_app_version. A day begins at 0:00 UTC.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/scheduler/volunteer.hpp"

namespace dedloc::server {

/// The quotas of one host, by app version. A new host has config.daily_jobs_per_seat for each seat.
///
/// Before  a transaction is open and the host row is locked      Errors  DatabaseError
class DailyQuota {
  public:
    /// Adds the statement that selects them.
    static void add_select(Batch& batch, std::int64_t host);
    /// `rows` are the answer to it.
    DailyQuota(Database& database, const ProjectConfig& config, std::int64_t host,
               const Rows& rows);

    /// Whether the host may get another job of this app version today, if it has `seats` seats for
    /// it. If not, spent() says so.
    bool allows(std::int64_t app_version, std::int64_t seats);
    /// Makes the row of this host and app version, unless it exists, for a job that is sent.
    /// Returns whether the statement before, which marks the job as sent, matched a row; if not,
    /// nothing is made.
    bool add(std::int64_t app_version);
    /// The same for a job that is sent for the first time, and counts it. If `commits`, the
    /// transaction is committed in the same message when the job is counted.
    bool count(std::int64_t app_version, bool commits);
    /// Changes the quota by the outcome of a job if the statement before, which stores the outcome,
    /// matched a row: as BOINC's scheduler does: a failure takes one
    /// job from it, down to 1, and a success doubles a quota that failures have lowered.
    void adjust(std::int64_t app_version, bool success);
    /// The number of jobs a day that has held a job back, if any has.
    std::optional<std::int64_t> spent() const { return spent_; }

  private:
    struct Entry {
        std::int64_t per_seat = 0;
        std::int64_t today = 0;
    };
    Entry& entry(std::int64_t app_version);

    Database& database_;
    const std::int64_t host_;
    const std::int64_t initial_;
    std::map<std::int64_t, Entry> entries_;
    std::optional<std::int64_t> spent_;
};

}  // namespace dedloc::server
