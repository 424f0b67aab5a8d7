// What an administrator needs to judge a volunteer: accounts and computers with their work, credit,
// quota, reliability, bans, withheld credit and suspicions. All names and texts in it are
// volunteers' words. Times are UTC seconds and their names end in _at; 0: never. Errors of all
// functions: DatabaseError.
#pragma once

#include <cstdint>
#include <string>

#include "project_server/database/database.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::admin {

/// What a list shows.
struct ListChoice {
    bool is_banned = false;  ///< only those that are banned themselves
    std::string found{};     ///< only those whose name, or e-mail address, has this; empty: all
    std::int64_t user = 0;   ///< computers only: those of this account; 0: all
    int limit = 100;         ///< at most so many
};

/// {users: [{id, name, email, team, credit, recent_credit, hosts, created_at, is_banned}]}, most
/// recent credit first.
json::Value user_list(server::Database& database, const ListChoice& choice);

/// {hosts: [{id, name, user_id, user, processor, cores, system, credit, recent_credit, contact_at,
/// is_banned}]}, the last contact first. is_banned: itself or by its account.
json::Value host_list(server::Database& database, const ListChoice& choice);

/// One account: {id, name, email, is_email_confirmed, country, team_id, team, created_at, credit,
/// recent_credit, is_banned, bans, jobs, hosts, runs, withheld, suspicions, same_addresses}.
///   bans            [{kind, subject, since_at, reason}]
///   jobs            {in_progress, succeeded, waiting, failed, refused, timed_out, given_up}
///   hosts           as host_list(), at most 100
///   runs            [{run, contributions, samples, credit, pending_samples, withheld_samples}]
///   withheld        [{run, key, kind, subject, since_at, contributions, samples}]
///   suspicions      as suspicions_of()
///   same_addresses  [{user_id, user, is_banned, address}]: other accounts with a computer that was
///                   last seen at an address of one of these; a hint, no proof. At most 20
/// Requires that the account exists (lookup.hpp).
json::Value user_facts(server::Database& database, std::int64_t user);

/// One computer: {id, name, user_id, user, address, processor, vendor, cores, devices,
/// memory_bytes, flops, system, system_version, created_at, contact_at, credit, recent_credit,
/// venue, turnaround_seconds, is_banned, bans, jobs, versions, runs, withheld, suspicions,
/// recent_jobs}.
///   versions     [{app, version, plan_class, quota_per_seat, jobs_today, consecutive_valid}]
///   recent_jobs  [{id, name, state, exit_status, sent_at, reported_at, hours, credit}], at most 20
/// The others as in user_facts(). Requires that the computer exists.
json::Value host_facts(server::Database& database, std::int64_t host);

/// {teams: [{id, name, founder_id, founder, members, credit, recent_credit, url, created_at}]},
/// most recent credit first; `is_banned` and `user` of the choice mean nothing here.
json::Value team_list(server::Database& database, const ListChoice& choice);

/// {bans: [{kind, subject, since_at, reason}]}: banned keys and dismissed voters' keys, the newest
/// first; at most `limit` of each.
json::Value key_list(server::Database& database, int limit);

}  // namespace dedloc::admin
