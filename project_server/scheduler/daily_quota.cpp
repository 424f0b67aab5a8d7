#include "project_server/scheduler/daily_quota.hpp"

#include <algorithm>

namespace dedloc::server {

void DailyQuota::add_select(Batch& batch, std::int64_t host) {
    batch.add(
        "select app_version_id, max_jobs_per_day, n_jobs_today from host_app_version "
        "where host_id = ?",
        {host});
}

DailyQuota::DailyQuota(Database& database, const ProjectConfig& config, std::int64_t host,
                       const Rows& rows)
    : database_(database), host_(host), initial_(config.daily_jobs_per_seat) {
    for (const Row& row : rows) {
        Entry& read = entry(row.integer("app_version_id"));
        // 0 is the value of a row that was made without a quota.
        if (row.integer("max_jobs_per_day") > 0) read.per_seat = row.integer("max_jobs_per_day");
        read.today = row.integer("n_jobs_today");
    }
}

DailyQuota::Entry& DailyQuota::entry(std::int64_t app_version) {
    return entries_.try_emplace(app_version, Entry{.per_seat = initial_}).first->second;
}

bool DailyQuota::allows(std::int64_t app_version, std::int64_t seats) {
    if (initial_ == 0) return true;
    const Entry& of_version = entry(app_version);
    const std::int64_t limit = of_version.per_seat * seats;
    if (of_version.today < limit) return true;
    spent_ = limit;
    return false;
}

bool DailyQuota::add(std::int64_t app_version) {
    // A row that is there matches.
    return database_.execute(
               "insert into host_app_version (host_id, app_version_id, max_jobs_per_day) "
               "select ?, ?, ? from dual where row_count() > 0 "
               "on duplicate key update host_id = host_id",
               {host_, app_version, initial_}) > 0;
}

bool DailyQuota::count(std::int64_t app_version, bool commits) {
    const char* const sql =
        "insert into host_app_version (host_id, app_version_id, max_jobs_per_day, n_jobs_today) "
        "select ?, ?, ?, 1 from dual where row_count() > 0 "
        "on duplicate key update n_jobs_today = n_jobs_today + 1";
    const auto counted = commits ? database_.execute_and_commit(sql, {host_, app_version, initial_})
                                 : database_.execute(sql, {host_, app_version, initial_});
    if (counted == 0) return false;
    ++entry(app_version).today;
    return true;
}

void DailyQuota::adjust(std::int64_t app_version, bool success) {
    Entry& of_version = entry(app_version);
    if (success) {
        if (of_version.per_seat >= initial_) return;
        of_version.per_seat = std::min(2 * of_version.per_seat, initial_);
    } else {
        of_version.per_seat =
            std::max<std::int64_t>(std::min(of_version.per_seat, initial_), 2) - 1;
    }
    database_.defer(
        "update host_app_version set max_jobs_per_day = ?, "
        "consecutive_valid = if(?, consecutive_valid, 0) where host_id = ? and app_version_id = ? "
        "and "
        "row_count() > 0",
        {of_version.per_seat, success, host_, app_version});
}

}  // namespace dedloc::server
