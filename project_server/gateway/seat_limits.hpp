// How many seats one account and one network may hold. A seat is a job in progress with a ticket
// that has not expired, whatever the run and however many keys the job has used. A job that holds a
// seat keeps it: only one that holds none can be told to wait.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/formats/ticket.hpp"
#include "project_server/database/database.hpp"
#include "project_server/settings.hpp"

namespace dedloc::gateway {

/// Limits that the administrator sets (server::Settings); 0: no limit.
struct SeatLimits {
    std::uint64_t of_account = server::kDefaultSeatsOfAccount;  ///< one account's
    /// One network's, as platform::public_network() names it.
    std::uint64_t of_network = server::kDefaultSeatsOfNetwork;
};

/// A job that asks for a ticket.
struct SeatWish {
    std::int64_t result = 0;  ///< its result
    std::int64_t user = 0;    ///< its account
    std::string network{};    ///< the network that it asks from; empty: one without a limit
    formats::UtcSeconds now;  ///< the time of the request
};

/// No seat is free for the job now; another one has to end first. The volunteer reads the sentence.
class NoSeat : public Error {
  public:
    NoSeat(const std::string& sentence, std::string holder)
        : Error(sentence), holder_(std::move(holder)) {}
    /// What has all its seats, for the administrator: "account 12", "network 203.0.113.0/24".
    const std::string& holder() const { return holder_; }

  private:
    std::string holder_;
};

/// The seat of a job.
struct HeldSeat {
    std::string network;  ///< in which it counts; empty: in none
    bool operator==(const HeldSeat&) const = default;
};
/// The seat that the job holds; nothing: it holds none. Errors: DatabaseError.
std::optional<HeldSeat> held_seat(server::Database& database, const SeatWish& wish);

/// The right to give away a seat: while it lasts, no other process or thread counts and gives seats
/// of the same account or network. It ends with the destructor, which must be after the commit.
class SeatTurn {
  public:
    /// Waits for two seconds at most. Not inside a transaction. Errors: DatabaseError; NoSeat
    /// without a holder: others ask now.
    SeatTurn(server::Database& database, const SeatWish& wish);
    ~SeatTurn();
    SeatTurn(const SeatTurn&) = delete;
    SeatTurn& operator=(const SeatTurn&) = delete;

  private:
    server::Database& database_;
};

/// Throws NoSeat if the account or the network holds as many seats as it may, without this job's.
/// Errors: NoSeat, DatabaseError.
void require_free_seat(server::Database& database, const SeatLimits& limits, const SeatWish& wish);
/// Whether the network of the wish has a seat for the job, which counts in another one.
/// Errors: DatabaseError.
bool may_move(server::Database& database, const SeatLimits& limits, const SeatWish& wish);
/// Revokes tickets of jobs that are over, the oldest first, as far as the account or the network
/// would have more tickets than seats with the one that this job gets: an ended job's ticket is
/// valid for up to a day, and must not be a seat that nothing counts. Errors: DatabaseError.
void make_room(server::Database& database, const SeatLimits& limits, const SeatWish& wish);

}  // namespace dedloc::gateway
