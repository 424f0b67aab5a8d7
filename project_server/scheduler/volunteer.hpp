// Identifies the sender of a request: the account of the authenticator and the row of the host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "project_server/database/database.hpp"
#include "project_server/scheduler/request.hpp"
#include "project_server/scheduler/same_computer.hpp"

namespace dedloc::server {

/// A row of `user` and the name of its team.
struct Account {
    std::int64_t id = 0;           ///< key of the row
    std::int64_t create_time = 0;  ///< Unix time, seconds
    std::string name;
    std::string email;                ///< address for mail and sign-in; not public
    std::string cross_project_id;     ///< BOINC's id of the volunteer, the same in all projects
    std::int64_t team_id = 0;         ///< 0: no team
    std::string team_name;            ///< empty without a team
    double total_credit = 0;          ///< sum of all credit
    double recent_credit = 0;         ///< BOINC's average with exponential decay
    std::string project_preferences;  ///< <project_preferences> element; may be empty
    std::string preferences;          ///< <global_preferences> element; may be empty
    std::string venue;                ///< that new hosts of the account get; may be empty
};

/// A row of `host`.
struct Host {
    std::int64_t id = 0;            ///< key of the row
    std::int64_t create_time = 0;   ///< Unix time, seconds
    std::string venue;              ///< BOINC's "home", "work", "school" or empty
    double total_credit = 0;        ///< sum of all credit
    double recent_credit = 0;       ///< BOINC's average with exponential decay
    bool is_banned = false;         ///< gets no jobs
    std::int64_t sequence = 0;      ///< number of its last stored request
    std::int64_t last_request = 0;  ///< when its last stored request came; 0: never
    Computer computer{};            ///< what it was then
    bool is_new_to_client = false;  ///< the reply must tell the client this id
};

/// The sender of a request, as the database knows it.
struct Caller {
    Account account;  ///< the one with the authenticator of the request
    /// The host that the request names, unless it is not one of the account, or the request is an
    /// old one or of another computer; then identify_host() decides.
    std::optional<Host> host{};
    bool has_messages = false;  ///< trickle-downs wait for the host
    bool is_banned = false;     ///< it wants jobs, and `host` or the account is banned
};

/// Replaces a weak account key in the request by the account's own. False: the weak key is no
/// account's. Errors: DatabaseError.
bool find_account_key(Database& database, SchedulerRequest& request);

/// Finds the sender of a request with one statement; nothing if no account has its authenticator.
std::optional<Caller> find_caller(Database& database, const SchedulerRequest& request);
/// The same in two steps: the statement, and its answer.
void add_caller(Batch& batch, const SchedulerRequest& request);
std::optional<Caller> caller_of(const Rows& rows, const SchedulerRequest& request);

/// Age in seconds at which what is stored about a host is old: then its next request is stored. So
/// long a copied client folder may go unnoticed.
inline constexpr std::int64_t kHostRefresh = 60;

/// Whether its last stored request came in the last kHostRefresh seconds.
bool is_recent(const Host& host, std::int64_t now);

/// Adds the statement that stores the sequence number of a request and so locks the row of the host
/// that it names. A row matches if it is one of the sender's account, the request is newer than the
/// last one and of the same computer, and no more must be stored: the host was stored in the last
/// kHostRefresh seconds, and on the same day (UTC).
void add_lock(Batch& batch, const SchedulerRequest& request, std::int64_t now);

struct AccountLimits;

/// Finds the host row of this request, updates it from the request and locks it until the
/// transaction ends, so that requests of one host are served one after the other. Creates a row
/// unless the request is one of the client that the row belongs to (README.md). No job of any host
/// ends here: abandoned ones time out. The first request of a day (UTC) sets the counts of the
/// host's daily quota to zero.
///
/// Before  a transaction is open
/// Errors  TooManyHosts, DatabaseError
Host identify_host(Database& database, const Caller& caller, const SchedulerRequest& request,
                   const std::string& address, std::int64_t now, const AccountLimits& limits);

/// Whether the client has newer computing preferences of the same account, which the volunteer has
/// changed through another project, and may change the account.
bool has_newer_preferences(const Account& account, const SchedulerRequest& request);
/// Stores them.
void store_preferences(Database& database, const Account& account, const SchedulerRequest& request);
/// The <global_preferences> element that the client must be sent: the account's, unless the client
/// has the same or newer ones, or some that are damaged and may be newer.
std::string preferences_for(const Account& account, const SchedulerRequest& request);

/// Hash of the client's secret cpid and the e-mail address: the host's public id across projects.
std::string public_host_name(const SchedulerRequest& request, const Account& account);

}  // namespace dedloc::server
