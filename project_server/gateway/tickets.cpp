// The job's row is found and checked without a lock; the ticket is then recorded in one
// transaction, which first locks the row of the result, so that requests for a job come one after
// the other. Bans, keys, seat and row follow, and other keys of the job are revoked last. The
// transaction is tried without a SeatTurn, which only a new seat needs, and repeated with one. A
// suspicion is recorded after the transaction has been rolled back, or it would be lost with it.
#include "project_server/gateway/tickets.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "peer/base/log.hpp"
#include "project_server/database/account_keys.hpp"
#include "project_server/database/boinc_apps.hpp"
#include "project_server/database/states.hpp"
#include "project_server/database/suspicions.hpp"
#include "project_server/database/text_columns.hpp"
#include "project_server/gateway/checkpoint_requests.hpp"
#include "project_server/gateway/compute_bound.hpp"

namespace dedloc::gateway {
namespace {

using server::Database;
using server::Row;

constexpr int kBanned = -1;  // max_results_day of a banned host, in BOINC's schema

constexpr const char* kJobs =
    "select r.id as result, r.name as result_name, r.userid, h.id as hostid, "
    "r.hostid as first_host, r.server_state, u.authenticator, u.passwd_hash, "
    "least(h.max_results_day, coalesce((select f.max_results_day from host f where "
    "f.id = r.hostid), 0)) as max_results_day, "
    "h.n_bwup, h.n_bwdown, h.p_ncpus, h.p_fpops, h.p_ngpus, h.serialnum, r.sent_time, "
    "v.plan_class, d.id as run, d.run_id, d.name, d.flops_per_sample, d.least_flops_per_sample, "
    "a.name as app, coalesce(a.non_cpu_intensive, 0) as only_averages "
    "from result r left join app a on a.id = r.appid "
    "left join app_version v on v.id = r.app_version_id "
    "join user u on u.id = r.userid join host h on h.id = ? and h.userid = r.userid "
    "join workunit w on w.id = r.workunitid join dedloc_run d on d.id = w.opaque where ";

/// The row of the job that the request names, with its run and the computer that asks. A client may
/// have got another host id since the job was sent, so any computer of the account may ask. The
/// request has the account's key or its weak one: the app knows the one that the client is attached
/// with.
Row find_job(Database& database, const formats::EnrolmentRequest& request) {
    const auto row = database.query_one(std::string{kJobs} + server::same_text("r.name"),
                                        {request.host, request.result, request.result});
    if (!row ||
        !server::is_key_of(request.authenticator, {.user = row->integer("userid"),
                                                   .authenticator = row->text("authenticator"),
                                                   .password_hash = row->text("passwd_hash")})) {
        throw Refused(
            fmt::format("this account and computer have no job named {} here", request.result));
    }
    return *row;
}

/// Under an official server another app's workunit may have a run's number in `opaque`.
void require_our_app(const Row& job, const std::string& name) {
    if (job.is_null("app")) return;
    if (std::ranges::find(server::kApps, job.text("app")) != server::kApps.end()) return;
    throw Refused(fmt::format("{} is no job of DeDLOC", name));
}

void require_seat(const Row& job, const formats::EnrolmentRequest& request) {
    if (job.integer("max_results_day") == kBanned) {
        throw Refused("the project has banned this computer");
    }
    if (server::state_of<server::ServerState>(job, "server_state") !=
        server::ServerState::kInProgress) {
        throw Refused(fmt::format("the job {} is over", request.result));
    }
}

/// A request that no honest computer makes.
class Suspicious : public Refused {
  public:
    using Refused::Refused;
};

/// Tells the administrator.
void record_suspect(Database& database, const Row& job, formats::UtcSeconds now,
                    const std::string& what) {
    // Without the key, because a liar would use another one each time.
    server::record_suspicion(
        database,
        {.source = server::SuspicionSource::kTicket,
         .run = job.integer("run"),
         .user = job.integer("userid"),
         .host = job.integer("hostid"),
         .what = what,
         .detail = fmt::format("{}; the job is {}", what, job.text("result_name"))},
        now.time_since_epoch().count());
}

void require_no_ban(Database& database, const Row& job, const formats::Ticket& ticket) {
    auto ban = server::ban_of(database, ticket);
    if (!ban) ban = server::ban_of(database, 0, job.integer("first_host"));
    if (ban) throw Refused(server::sentence_of(*ban));
}

void require_few_keys(Database& database, const Row& job, const PeerKey& key) {
    const auto row = database.query_one(
        "select count(*) as keys_ from dedloc_ticket where resultid = ? and peer_key <> ?",
        {job.integer("result"), key.hex()});
    if (row->integer("keys_") >= kKeysOfAResult) {
        throw Suspicious(fmt::format("this job has used {} keys already", kKeysOfAResult));
    }
}

/// The network in which the job's seat counts from now on: that of the request, unless the job has
/// a seat already and the new network has none left. Then the seat goes on to count where it did:
/// if it counted nowhere, or beyond the limit, then by moving in turns between two networks an
/// owner of both would get any number. Nothing: to say so takes a SeatTurn.
/// Errors: NoSeat: the job has no seat, and gets none now
std::optional<std::string> network_of_seat(Database& database, const SeatLimits& limits,
                                           const SeatWish& wish, bool has_turn) {
    const auto held = held_seat(database, wish);
    if (held && (held->network == wish.network || wish.network.empty())) return wish.network;
    if (held && !may_move(database, limits, wish)) return held->network;
    if (!held) require_free_seat(database, limits, wish);
    if (!has_turn) return std::nullopt;
    make_room(database, limits, wish);
    return wish.network;
}

/// Writes the ticket's row. A key belongs to the first job that asked for it: contributions are
/// credited by key, and the keys of all peers are public in the swarm.
void record(Database& database, const Row& job, const formats::Ticket& ticket,
            const std::string& network) {
    database.execute(
        "insert into dedloc_ticket (runid, peer_key, resultid, userid, hostid, sent, issued, "
        "expires, network) values (?, ?, ?, ?, ?, ?, ?, ?, ?) on duplicate key update "
        "userid = if(resultid = values(resultid), values(userid), userid), "
        "hostid = if(resultid = values(resultid), values(hostid), hostid), "
        "sent = if(resultid = values(resultid), values(sent), sent), "
        "issued = if(resultid = values(resultid), values(issued), issued), "
        "expires = if(resultid = values(resultid), values(expires), expires)",
        {job.integer("run"), ticket.peer.hex(), job.integer("result"), job.integer("userid"),
         job.integer("hostid"), job.integer("sent_time"), ticket.issued.time_since_epoch().count(),
         ticket.expires.time_since_epoch().count(), network});
    database.defer("update dedloc_ticket set network = ? where resultid = ?",
                   {network, job.integer("result")});
    const auto row =
        database.query_one("select resultid from dedloc_ticket where runid = ? and peer_key = ?",
                           {job.integer("run"), ticket.peer.hex()});
    if (!row || row->integer("resultid") != job.integer("result")) {
        throw Suspicious("this key belongs to another job");
    }
}

/// Records the ticket in one transaction. False: nothing was done, because a SeatTurn is needed.
bool record_in_turn(Database& database, const Row& job, const formats::Ticket& ticket,
                    const SeatLimits& limits, const SeatWish& wish, bool has_turn) {
    return server::in_transaction(database, [&] {
        // Concurrent requests for a job count and revoke its keys one after the other.
        database.query_one("select id from result where id = ? for update",
                           {job.integer("result")});
        require_no_ban(database, job, ticket);
        require_few_keys(database, job, ticket.peer);
        const auto network = network_of_seat(database, limits, wish, has_turn);
        if (!network) return false;
        record(database, job, ticket, *network);
        server::revoke_replaced(database, ticket);
        return true;
    });
}

RunId run_id_of(const Row& job) {
    RunId run;
    if (!from_hex(job.text("run_id"), run.bytes)) {
        throw Error(fmt::format("the run {} has no id in the database", job.text("name")));
    }
    return run;
}

/// A job that only averages computes no samples; 1 is the least that a ticket can say.
std::uint64_t bound_of(const Row& job, const DeviceRates& rates) {
    if (job.integer("only_averages") != 0) return 1;
    ComputerReport computer{.cores = job.integer("p_ncpus"),
                            .core_flops = job.real("p_fpops"),
                            .coprocessors = job.text("serialnum"),
                            .gpus = job.integer("p_ngpus")};
    if (!job.is_null("plan_class")) computer.plan_class = job.text("plan_class");
    return max_samples_per_second(
        computer, rates,
        {.full = job.real("flops_per_sample"), .min = job.real("least_flops_per_sample")});
}

/// The rate; nullopt (unknown) if it is implausible, as the 0 of a new computer's column is.
std::optional<Bandwidth> believable(double bytes_per_second) {
    const bool is_believed =
        bytes_per_second >= kSlowestBytesPerSecond && bytes_per_second <= kFastestBytesPerSecond;
    if (!is_believed) return std::nullopt;
    return Bandwidth{static_cast<std::uint64_t>(bytes_per_second)};
}

/// A fault here costs no ticket.
bool wants_checkpoint(Database& database, const KeyPair& secret, const Row& job,
                      formats::UtcSeconds now) {
    try {
        return is_asked_for_checkpoint(database, secret,
                                       {.run = job.integer("run"),
                                        .result = job.integer("result"),
                                        .only_averages = job.integer("only_averages") != 0},
                                       now);
    } catch (const InputError& error) {
        log_warning("no checkpoint of the run {} is asked for: {}", job.text("name"), error.what());
        return false;
    }
}

}  // namespace

Issued issue_ticket(Database& database, const KeyPair& secret,
                    const formats::EnrolmentRequest& request, formats::UtcSeconds now,
                    const TicketLimits& limits, const std::string& network) {
    const Row job = find_job(database, request);
    require_our_app(job, request.result);
    require_seat(job, request);
    const formats::Ticket ticket{
        .run = run_id_of(job),
        .peer = request.key,
        .job = {.user = static_cast<std::uint64_t>(job.integer("userid")),
                .host = static_cast<std::uint64_t>(job.integer("hostid")),
                .result = static_cast<std::uint64_t>(job.integer("result"))},
        .max_samples_per_second = bound_of(job, limits.rates),
        .issued = now,
        .expires = now + server::kTicketLife};
    const SeatWish wish{.result = job.integer("result"),
                        .user = job.integer("userid"),
                        .network = network,
                        .now = now};
    try {
        // Most requests renew a ticket and need no turn; requests for which there is no seat must
        // not delay the others.
        if (!record_in_turn(database, job, ticket, limits.seats, wish, false)) {
            const SeatTurn turn{database, wish};
            record_in_turn(database, job, ticket, limits.seats, wish, true);
        }
    } catch (const Suspicious& refusal) {
        record_suspect(database, job, now, refusal.what());
        throw;
    }
    return {.ticket = ticket,
            .run = job.integer("run"),
            .upload = believable(job.real("n_bwup")),
            .download = believable(job.real("n_bwdown")),
            .wants_checkpoint = wants_checkpoint(database, secret, job, now)};
}

}  // namespace dedloc::gateway
