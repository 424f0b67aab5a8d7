// A host is found in two ways. The fast one is add_lock(), an update with all conditions of a host
// that was stored a moment ago; one message holds it and the statement that reads account, host and
// bans. If it matches no row, identify_host() locks the row of the request's id and compares
// computer and sequence number: the client's next number is greater, that of a copied folder is
// not, so a copy gets a row of its own. Only a client without a valid id is looked for by its CPID.
// The update of the host is the last statement and stores the number.
#include "project_server/scheduler/volunteer.hpp"

#include <algorithm>
#include <utility>

#include "project_server/database/account_keys.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/scheduler/account_limits.hpp"
#include "project_server/scheduler/seats.hpp"

namespace dedloc::server {
namespace {

constexpr int kInProgress = 4;
constexpr int kBanned = -1;
constexpr int kMaxNamesakes = 16;      // hosts of an account with one CPID that are looked at
constexpr std::int64_t kDay = 86'400;  // seconds

constexpr const char* kHostColumns =
    "select id, create_time, rpc_seqno, rpc_time, venue, total_credit, expavg_credit, "
    "max_results_day, domain_name, p_vendor, p_model, p_ncpus, m_nbytes, os_name, os_version "
    "from host ";

Host as_host(const Row& row) {
    return {.id = row.integer("id"),
            .create_time = row.integer("create_time"),
            .venue = row.text("venue"),
            .total_credit = row.real("total_credit"),
            .recent_credit = row.real("expavg_credit"),
            .is_banned = row.integer("max_results_day") == kBanned,
            .sequence = row.integer("rpc_seqno"),
            .last_request = row.integer("rpc_time"),
            .computer = {.domain_name = row.text("domain_name"),
                         .processor_vendor = row.text("p_vendor"),
                         .processor_model = row.text("p_model"),
                         .cores = row.integer("p_ncpus"),
                         .memory_bytes = row.real("m_nbytes"),
                         .os_name = row.text("os_name"),
                         .os_version = row.text("os_version")}};
}

/// Whether a request that names the host, one of its sender's account, is of the client that the
/// host belongs to. A client counts its requests, so one with an old number is of a copy of its
/// folder or of a restored one. The same number again is the same client's after a crash, or the
/// first one's after it has got its id.
bool is_its_client(const Host& host, const SchedulerRequest& request) {
    if (is_other_computer(host.computer, request.host)) return false;
    if (!request.sequence || *request.sequence > host.sequence) return true;
    return *request.sequence == host.sequence && is_same_computer(host.computer, request.host);
}

/// Whether the client has all jobs that the host has: no other client works on one that would be
/// sent to this client again.
bool has_all_jobs(Database& database, const Host& host, const SchedulerRequest& request) {
    const auto& listed = request.other_results;
    return std::ranges::all_of(
        database.query("select name from result where hostid = ? and server_state = ?",
                       {host.id, kInProgress}),
        [&](const Row& row) {
            return listed && std::ranges::find(*listed, row.text("name")) != listed->end();
        });
}

bool is_revoked(Database& database, std::int64_t host) {
    return database
        .query_one(
            "select 1 as is_revoked from dedloc_revocation where kind = 'host' and "
            "subject = ?",
            {std::to_string(host)})
        .has_value();
}

/// The host of a client that has no id, as it has lost it or is attached anew, by its CPID: the
/// newest one of the same computer. Copied disks have one CPID, and so have all clients of a
/// machine, so a host that has jobs is left to the client that works on them. A banned one gets
/// none.
std::optional<Host> namesake(Database& database, const Account& account,
                             const SchedulerRequest& request) {
    if (request.allows_multiple_clients || request.host.cpid.empty()) return std::nullopt;
    for (const Row& row : database.query(
             std::string{kHostColumns} +
                 "where userid = ? and host_cpid = ? order by id desc limit ? for update",
             {account.id, public_host_name(request, account), kMaxNamesakes})) {
        Host host = as_host(row);
        if (!is_same_computer(host.computer, request.host)) continue;
        host.is_new_to_client = true;
        if (host.is_banned || has_all_jobs(database, host, request) ||
            is_revoked(database, host.id)) {
            return host;
        }
    }
    return std::nullopt;
}

std::optional<Host> known_host(Database& database, const Account& account,
                               const SchedulerRequest& request) {
    if (request.host_id != 0) {
        const auto row =
            database.query_one(std::string{kHostColumns} + "where id = ? and userid = ? for update",
                               {request.host_id, account.id});
        if (row) {
            Host host = as_host(*row);
            return is_its_client(host, request) ? std::optional{std::move(host)} : std::nullopt;
        }
    }
    return namesake(database, account, request);
}

Host new_host(Database& database, const Account& account, std::int64_t now) {
    database.execute(
        "insert into host (create_time, userid, expavg_time, venue) values (?, ?, ?, ?)",
        {now, account.id, now, account.venue});
    return {.id = database.insert_id(),
            .create_time = now,
            .venue = account.venue,
            .is_new_to_client = true};
}

void update_host(Database& database, const Host& host, const Account& account,
                 const SchedulerRequest& request, const std::string& address, std::int64_t now) {
    const HostReport& h = request.host;
    // A client that learns its id counts from zero. A number that cannot be read changes nothing.
    const std::int64_t sequence =
        host.is_new_to_client ? 0 : request.sequence.value_or(host.sequence);
    // Nor does a name by which the computer is recognised.
    const std::string cpid = h.cpid.empty() ? std::string{} : public_host_name(request, account);
    database.execute(
        "update host set rpc_seqno = ?, rpc_time = ?, timezone = ?, domain_name = ?, "
        "serialnum = ?, nsame_ip_addr = if(external_ip_addr = ?, nsame_ip_addr + 1, 0), "
        "last_ip_addr = ?, external_ip_addr = ?, on_frac = ?, connected_frac = ?, "
        "active_frac = ?, gpu_active_frac = ?, duration_correction_factor = ?, p_ncpus = ?, "
        "p_vendor = coalesce(nullif(?, ''), p_vendor), p_model = coalesce(nullif(?, ''), p_model), "
        "p_fpops = ?, p_iops = ?, p_membw = ?, os_name = coalesce(nullif(?, ''), os_name), "
        "os_version = coalesce(nullif(?, ''), os_version), product_name = ?, m_nbytes = ?, m_cache "
        "= ?, m_swap = ?, d_total = ?, "
        "d_free = ?, d_boinc_used_total = ?, d_boinc_used_project = ?, d_boinc_max = ?, "
        "n_bwup = ?, n_bwdown = ?, host_cpid = coalesce(nullif(?, ''), host_cpid), p_ngpus = ?, "
        "p_gpu_fpops = ? where id = ?",
        {sequence,
         now,
         h.timezone,
         h.domain_name,
         h.serial,
         address,
         h.ip_address,
         address,
         h.on_fraction,
         h.connected_fraction,
         h.active_fraction,
         h.gpu_active_fraction,
         request.duration_correction,
         h.cores,
         h.processor_vendor,
         h.processor_model,
         h.flops,
         h.iops,
         h.memory_bandwidth,
         h.os_name,
         h.os_version,
         h.product_name,
         h.memory_bytes,
         h.cache_bytes,
         h.swap_bytes,
         h.disk_total,
         h.disk_free,
         h.disk_used_by_boinc,
         h.disk_used_by_project,
         h.disk_share_of_project,
         h.upload_bandwidth,
         h.download_bandwidth,
         cpid,
         h.gpus,
         h.gpu_flops,
         host.id});
}

}  // namespace

std::string public_host_name(const SchedulerRequest& request, const Account& account) {
    return md5_of_text(request.host.cpid + account.email);
}

bool is_recent(const Host& host, std::int64_t now) {
    const std::int64_t age = now - host.last_request;
    return age >= 0 && age < kHostRefresh;
}

void add_lock(Batch& batch, const SchedulerRequest& request, std::int64_t now) {
    const std::int64_t oldest = std::max(now - kHostRefresh + 1, now / kDay * kDay);
    // As is_other_computer() compares.
    const auto agrees = [](const std::string& column) {
        return " and (? = '' or " + column + " = '' or binary " + column + " = ?)";
    };
    const std::int64_t sequence = request.sequence.value_or(-1);
    const HostReport& h = request.host;
    batch.add(
        "update host use index (primary) set rpc_seqno = ? where id = ? and rpc_seqno < ? and "
        "rpc_time between ? and ? and userid = (select id from user where authenticator = ?)" +
            agrees("p_vendor") + agrees("p_model") + agrees("os_name"),
        {sequence, request.host_id, sequence, oldest, now, request.authenticator,
         h.processor_vendor, h.processor_vendor, h.processor_model, h.processor_model, h.os_name,
         h.os_name});
}

bool find_account_key(Database& database, SchedulerRequest& request) {
    if (!is_weak_form(request.authenticator)) return true;
    auto key = account_key_of(database, request.authenticator);
    if (!key) return false;
    request.authenticator = std::move(*key);
    request.has_weak_key = true;
    return true;
}

std::optional<Caller> find_caller(Database& database, const SchedulerRequest& request) {
    Batch batch{database};
    add_caller(batch, request);
    return caller_of(batch.run().front().rows, request);
}

void add_caller(Batch& batch, const SchedulerRequest& request) {
    // Bans are looked up for those that want jobs.
    const bool wants_jobs = total(requested(request)) > 0;
    batch.add(
        std::string{"select "} +
            (wants_jobs ? "bu.subject is not null or bh.subject is not null" : "0") +
            " as is_banned, u.id as account, u.create_time as account_time, u.name, u.email_addr, "
            "u.cross_project_id, u.teamid, u.venue as account_venue, "
            "u.total_credit as account_credit, u.expavg_credit as account_average, "
            "u.project_prefs, u.global_prefs, t.name as team_name, h.id, h.create_time, "
            "h.rpc_seqno, h.rpc_time, h.venue, h.total_credit, h.expavg_credit, "
            "h.max_results_day, h.domain_name, h.p_vendor, h.p_model, h.p_ncpus, h.m_nbytes, "
            "h.os_name, h.os_version, exists (select 1 from msg_to_host m where m.hostid = h.id "
            "and "
            "m.handled = 0) as has_messages from user u left join team t on t.id = u.teamid "
            "left join host h on h.id = ? and h.userid = u.id " +
            (wants_jobs ? "left join dedloc_revocation bu on bu.kind = 'user' and "
                          "bu.subject = cast(u.id as char) left join dedloc_revocation bh on "
                          "bh.kind = 'host' and bh.subject = cast(h.id as char) "
                        : "") +
            "where u.authenticator = ?",
        {request.host_id, request.authenticator});
}

std::optional<Caller> caller_of(const Rows& rows, const SchedulerRequest& request) {
    if (rows.empty()) return std::nullopt;
    const Row* const row = &rows.front();
    Caller caller{.account = {.id = row->integer("account"),
                              .create_time = row->integer("account_time"),
                              .name = row->text("name"),
                              .email = row->text("email_addr"),
                              .cross_project_id = row->text("cross_project_id"),
                              .team_id = row->integer("teamid"),
                              .team_name = row->text("team_name"),
                              .total_credit = row->real("account_credit"),
                              .recent_credit = row->real("account_average"),
                              .project_preferences = row->text("project_prefs"),
                              .preferences = row->text("global_prefs"),
                              .venue = row->text("account_venue")},
                  .has_messages = row->integer("has_messages") != 0,
                  .is_banned = row->integer("is_banned") != 0};
    if (row->is_null("id")) return caller;
    Host host = as_host(*row);
    if (request.sequence && host.sequence <= *request.sequence &&
        !is_other_computer(host.computer, request.host)) {
        caller.host = std::move(host);
    }
    return caller;
}

bool has_newer_preferences(const Account& account, const SchedulerRequest& request) {
    if (request.has_weak_key || request.account_preferences.empty()) return false;
    return request.preferences_email_hash == md5_of_text(account.email) &&
           parse_computing_preferences(request.account_preferences).modified >
               parse_computing_preferences(account.preferences).modified;
}

void store_preferences(Database& database, const Account& account,
                       const SchedulerRequest& request) {
    database.execute("update user set global_prefs = ? where id = ?",
                     {request.account_preferences, account.id});
}

std::string preferences_for(const Account& account, const SchedulerRequest& request) {
    const std::string& theirs = request.account_preferences;
    if (request.lost_preferences || has_newer_preferences(account, request)) return {};
    const bool is_newer =
        theirs.empty() || parse_computing_preferences(account.preferences).modified >
                              parse_computing_preferences(theirs).modified;
    return is_newer ? account.preferences : std::string{};
}

Host identify_host(Database& database, const Caller& caller, const SchedulerRequest& request,
                   const std::string& address, std::int64_t now, const AccountLimits& limits) {
    const Account& account = caller.account;
    const auto known = known_host(database, account, request);
    if (!known) require_new_host(database, account, limits, now);
    const Host host = known ? *known : new_host(database, account, now);
    if (known && host.last_request / kDay != now / kDay) {
        database.execute("update host_app_version set n_jobs_today = 0 where host_id = ?",
                         {host.id});
    }
    update_host(database, host, account, request, address, now);
    return host;
}

}  // namespace dedloc::server
