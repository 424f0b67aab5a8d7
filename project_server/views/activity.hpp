// What happens in a run, for its administrator: throughput, failures, versions and devices, by peer
// and by user, hour by hour; who came and who left; who computes with an old version; and how the
// held-out loss of each source has changed meanwhile.
//
// Samples are those of the ledger. The project's ticket says who owns a key, and the version of a
// job is the one that the project has sent. Names of devices, computers and accounts are what their
// owners have reported, so whatever shows them escapes them. Results are deleted after some days
// (project_server/purge), and failures with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::server {

/// The part of a run's history that is looked at.
struct ActivityChoice {
    std::string run{};  ///< name
    int hours = 24;     ///< 1 to kMaxActivityHours, up to `now`
    double now = 0;     ///< UTC seconds
};
inline constexpr int kMaxActivityHours = 168;   ///< results are kept for about as long
inline constexpr std::size_t kMaxListed = 100;  ///< rows of each list

/// The activity of these hours:
///
///     {run, state, step, steps, hours, began_at, ended_at, samples, samples_per_second, users,
///     computers, peers, peers_here, joined, left, sessions, mean_session_seconds, failed_jobs,
///     aborted_jobs, curve, held_out: loss_changes() in these hours,
///     timeline: [{began_at, samples, joined, left, failed_jobs}],
///     by_user: [{user_id, user, computers, peers, samples, samples_per_second, device_seconds,
///     failed_jobs, curve, timeline}],
///     by_peer: [{key, short_key, user_id, user, host_id, host, device, version, is_here,
///     joined_at, left_at, samples, samples_per_second, job, curve, timeline}],
///     by_version: [{version, computers, peers, samples, failed_jobs}], by_device: the same with
///     `device`, old: old_version_list(), failures: [{ended_at, user_id, user, host_id, host,
///     version, what, exit_status}]}
///
/// `timeline` of a user or peer: samples of each hour; `curve`: the same in characters. joined,
/// left: computers whose session (run_story.hpp) began or ended; one that is here has not left. A
/// peer's samples_per_second is while it was here, all others are over these hours. Users and peers
/// with the most samples come first, and of each list there are at most kMaxListed. failures: the
/// newest first. aborted_jobs: those that their volunteers have aborted, for example as they left;
/// they are no failures.
///
/// Errors  InputError (no such run), DatabaseError
/// Cost    the contributions of these hours; all presences, seats, results and evaluations of the
///         run
json::Value run_activity(Database& database, const ActivityChoice& choice);

/// A character for each number: blocks of eight heights, a blank for 0.
std::string block_curve(const std::vector<double>& numbers);

}  // namespace dedloc::server
