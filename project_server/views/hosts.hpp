// Volunteers' computers: one reader, and what a visitor and the command line show of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"
#include "project_server/json/value.hpp"
#include "project_server/views/list_choice.hpp"

namespace dedloc::server {

/// A computer. The last three facts are read for an administrator only.
struct HostView {
    std::int64_t id = 0;            ///< host.id
    std::int64_t owner_id = 0;      ///< user.id of its account
    std::string owner;              ///< name of the account
    std::string processor;          ///< its client's words, like the other texts
    std::string vendor;             ///< maker of the processor
    std::int64_t cores = 0;         ///< processors
    std::string devices;            ///< coprocessors, in BOINC's form
    double memory_bytes = 0;        ///< main memory
    double flops = 0;               ///< speed of one core, measured by its client
    std::string system;             ///< operating system
    std::string system_version;     ///< its version
    std::int64_t created = 0;       ///< UTC seconds
    std::int64_t last_contact = 0;  ///< UTC seconds; 0: never
    double credit = 0;              ///< total
    double recent_credit = 0;       ///< credits a day, as of now
    std::string venue;              ///< empty: none
    double turnaround_seconds = 0;  ///< mean time from a job's sending to its report
    double on_share = 0;            ///< share of the time in which its client runs
    std::string name{};             ///< domain name
    std::string address{};          ///< external IP address
    bool is_banned = false;         ///< itself or by its account
};

/// Those that the choice names. Errors: DatabaseError. Cost: a limited part of an index, unless the
/// choice names a text.
std::vector<HostView> read_hosts(Database& database, const ListChoice& choice);

/// The 100 computers of a user that were heard of last, as the user's page lists them. Errors:
/// DatabaseError.
json::Value::List hosts_of(Database& database, std::int64_t user);

/// [{value, is_chosen}]: no venue (value "") and BOINC's venues, for a choice.
json::Value::List venue_choices(const std::string& chosen);

/// The page of a computer; its venue is there for its user only. Nothing if there is none, or if
/// its user does not show it and is not `viewer` (user.id, 0: not signed in). Names and addresses
/// of the computer are never part of it. Errors: DatabaseError.
std::optional<json::Value> host_data(Database& database, std::int64_t host, std::int64_t viewer);

/// {hosts: [{id, name, user_id, user, processor, cores, system, credit, recent_credit, contact_at,
/// is_banned}]} for an administrator, the last contact first. Errors: DatabaseError.
json::Value host_list(Database& database, ListChoice choice);

/// One computer for an administrator: {id, name, user_id, user, address, processor, vendor, cores,
/// devices, memory_bytes, flops, system, system_version, created_at, contact_at, credit,
/// recent_credit, venue, turnaround_seconds, is_banned, bans, versions, jobs, runs, withheld,
/// suspicions, recent_jobs}: the lists as in volunteer_work.hpp and tasks.hpp. Requires that the
/// computer exists. Errors: DatabaseError.
json::Value host_facts(Database& database, std::int64_t host);

}  // namespace dedloc::server
