// Seats are counted in dedloc_ticket, where each ticket has the network that its job's seat counts
// in. Two gateways that count at the same time would both see the last free seat, so a seat is
// given away under named locks of the database server, first the account's, then the network's:
// they need no rows, and end with the connection if this process dies.
#include "project_server/gateway/seat_limits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "project_server/database/revocations.hpp"
#include "project_server/database/states.hpp"

namespace dedloc::gateway {
namespace {

using server::Database;

constexpr int kLockSeconds = 2;
constexpr const char* kUser = "userid";
constexpr const char* kNetwork = "network";

std::int64_t seconds_of(const SeatWish& wish) {
    return wish.now.time_since_epoch().count();
}

/// Seats of other jobs with this value in a column of dedloc_ticket.
std::uint64_t seats_of(Database& database, const char* column, const server::Parameter& value,
                       const SeatWish& wish) {
    const auto row = database.query_one(
        fmt::format("select count(distinct t.resultid) as seats from dedloc_ticket t join result r "
                    "on r.id = t.resultid where t.{} = ? and t.expires > ? and r.server_state = ? "
                    "and t.resultid <> ?",
                    column),
        {value, seconds_of(wish), server::ServerState::kInProgress, wish.result});
    return static_cast<std::uint64_t>(row->integer("seats"));
}

bool has_free_seat(Database& database, const char* column, const server::Parameter& value,
                   std::uint64_t limit, const SeatWish& wish) {
    return limit == 0 || seats_of(database, column, value, wish) < limit;
}

}  // namespace

std::optional<HeldSeat> held_seat(Database& database, const SeatWish& wish) {
    // All tickets of a job have the same network.
    const auto row = database.query_one(
        "select network from dedloc_ticket where resultid = ? and expires > ? limit 1",
        {wish.result, seconds_of(wish)});
    if (!row) return std::nullopt;
    return HeldSeat{row->text("network")};
}

SeatTurn::SeatTurn(Database& database, const SeatWish& wish) : database_(database) {
    for (const std::string& holder : {fmt::format("account {}", wish.user), wish.network}) {
        if (holder.empty()) continue;
        // A name has at most 64 characters, and is the whole server's.
        const auto row = database_.query_one(
            "select get_lock(concat('dedloc seats ', md5(concat(database(), ' ', ?))), ?) as taken",
            {holder, kLockSeconds});
        if (row->integer("taken") == 1) continue;
        database_.query("select release_all_locks()");
        throw NoSeat("others ask for seats now: try again in a minute", "");
    }
}

SeatTurn::~SeatTurn() {
    try {
        database_.query("select release_all_locks()");
    } catch (const Error&) {
        // The connection is lost, and its locks with it.
    }
}

void require_free_seat(Database& database, const SeatLimits& limits, const SeatWish& wish) {
    constexpr const char* kSentence =
        "this {} has as many jobs in the swarm as the project allows, {} ({}): this one waits "
        "until another one ends";
    if (!has_free_seat(database, kUser, wish.user, limits.of_account, wish)) {
        throw NoSeat(fmt::format(kSentence, "account", limits.of_account, "seats_per_account"),
                     fmt::format("account {}", wish.user));
    }
    // The sentence does not name the network, because clients upload the log that has it.
    if (!may_move(database, limits, wish)) {
        throw NoSeat(
            fmt::format(kSentence, "computer's network", limits.of_network, "seats_per_network"),
            "network " + wish.network);
    }
}

bool may_move(Database& database, const SeatLimits& limits, const SeatWish& wish) {
    return wish.network.empty() ||
           has_free_seat(database, kNetwork, wish.network, limits.of_network, wish);
}

void make_room(Database& database, const SeatLimits& limits, const SeatWish& wish) {
    const auto make = [&](const char* column, const server::Parameter& value, std::uint64_t limit) {
        if (limit == 0) return;
        const std::uint64_t seats = seats_of(database, column, value, wish) + 1;
        server::revoke_ended(database, column, value, limit - std::min(limit, seats), wish.now);
    };
    make(kUser, wish.user, limits.of_account);
    if (!wish.network.empty()) make(kNetwork, wish.network, limits.of_network);
}

}  // namespace dedloc::gateway
