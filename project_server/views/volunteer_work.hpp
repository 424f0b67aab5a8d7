// The facts by which an administrator judges a volunteer: work, bans, withheld credit, quota and
// reliability of an account or of a computer. All names and texts in it are volunteers' words.
// Times are UTC seconds and their names end in _at; 0: never. Errors of all functions:
// DatabaseError.
#pragma once

#include <cstdint>

#include "project_server/database/database.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::server {

/// The account or the computer whose work is summed.
struct Owner {
    std::int64_t user = 0;  ///< user.id; 0: it is a computer
    std::int64_t host = 0;  ///< host.id; 0: it is an account
    /// The column that names it in the tables.
    const char* column() const { return user != 0 ? "userid" : "hostid"; }
    /// The column's value.
    std::int64_t id() const { return user != 0 ? user : host; }
};

/// [{kind, subject, since_at, reason}]: the bans of an account and, unless it is 0, of a computer.
json::Value::List bans_of(Database& database, std::int64_t user, std::int64_t host);

/// Adds what is said of an account and of a computer alike:
///   jobs        {in_progress, succeeded, waiting, failed, aborted, refused, timed_out, given_up}
///   runs        [{run, contributions, samples, reduced_bytes, credit, pending_samples,
///               withheld_samples}]
///   withheld    [{run, key, kind, subject, since_at, contributions, samples, reduced_bytes}]
///   suspicions  as suspicions(), at most 50
void add_work(json::Value& data, Database& database, const Owner& owner);

/// [{user_id, user, is_banned, address}]: other accounts with a computer that was last seen at an
/// address of one of these; a hint, no proof. At most 20.
json::Value::List same_addresses(Database& database, std::int64_t user);

/// [{app, version, plan_class, quota_per_seat, jobs_today, consecutive_valid}] of a computer.
json::Value::List versions_of(Database& database, std::int64_t host);

/// {bans: [{kind, subject, since_at, reason}]}: banned keys and dismissed voters' keys, the newest
/// first; at most `limit` of each.
json::Value key_list(Database& database, int limit);

}  // namespace dedloc::server
