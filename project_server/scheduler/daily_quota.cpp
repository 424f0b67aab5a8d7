#include "project_server/scheduler/daily_quota.hpp"

namespace dedloc::server {

DailyQuota::DailyQuota(Database& database, const ProjectConfig& config, const Host& host)
    : database_(database), host_(host.id), initial_(config.daily_jobs_per_seat) {
    for (const Row& row : database.query(
             "select app_version_id, max_jobs_per_day, n_jobs_today from host_app_version "
             "where host_id = ?",
             {host.id})) {
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

void DailyQuota::add(std::int64_t app_version) {
    database_.execute(
        "insert ignore into host_app_version (host_id, app_version_id, max_jobs_per_day) "
        "values (?, ?, ?)",
        {host_, app_version, initial_});
}

void DailyQuota::count(std::int64_t app_version) {
    ++entry(app_version).today;
    database_.execute(
        "update host_app_version set n_jobs_today = n_jobs_today + 1 "
        "where host_id = ? and app_version_id = ?",
        {host_, app_version});
}

void adjust_quota(Database& database, const ProjectConfig& config, const Host& host,
                  std::int64_t app_version, bool success) {
    const std::int64_t initial = config.daily_jobs_per_seat;
    if (success) {
        database.execute(
            "update host_app_version set max_jobs_per_day = least(2 * max_jobs_per_day, ?) "
            "where max_jobs_per_day < ? and host_id = ? and app_version_id = ?",
            {initial, initial, host.id, app_version});
        return;
    }
    database.execute(
        "update host_app_version set consecutive_valid = 0, max_jobs_per_day = "
        "greatest(least(if(max_jobs_per_day > 0, max_jobs_per_day, ?), ?), 2) - 1 "
        "where host_id = ? and app_version_id = ?",
        {initial, initial, host.id, app_version});
}

}  // namespace dedloc::server
