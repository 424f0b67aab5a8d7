// Issues tickets, unsigned: a volunteer whose computer has a job of a run in progress gets one for
// the key that the request names. RunSigner signs them.
#pragma once

#include <optional>

#include "peer/base/digest.hpp"
#include "peer/base/error.hpp"
#include "peer/base/units.hpp"
#include "peer/formats/enrolment.hpp"
#include "project_server/database/revocations.hpp"
#include "project_server/gateway/compute_bound.hpp"
#include "project_server/gateway/seat_limits.hpp"

namespace dedloc::gateway {

/// No ticket; retrying is useless. The volunteer reads the sentence.
class Refused : public Error {
  public:
    using Error::Error;
};

/// What an administrator may set.
struct TicketLimits {
    SeatLimits seats{};   ///< how many jobs may have tickets at a time
    DeviceRates rates{};  ///< what the devices of jobs can compute
};

/// Keys that one result may use, one at a time: a new one revokes the ticket of the one before. A
/// restarted result keeps its key, so a result with many keys runs on more than one computer.
inline constexpr int kKeysOfAResult = 8;

/// Plausible range of the rates that the BOINC client reports: from a slow modem to a gigabit. The
/// client averages over its file transfers. A small file that arrives together with its headers
/// looks like many gigabits, and a peer lowers an estimate only by a quarter per round.
inline constexpr double kSlowestBytesPerSecond = 1e3;
inline constexpr double kFastestBytesPerSecond = 125e6;

/// A ticket and what its reply carries with it.
struct Issued {
    formats::Ticket ticket;               ///< not signed yet
    std::int64_t run = 0;                 ///< dedloc_run.id of its run
    std::optional<Bandwidth> upload{};    ///< as in formats::EnrolmentReply
    std::optional<Bandwidth> download{};  ///< as in formats::EnrolmentReply
    bool wants_checkpoint = false;        ///< as in formats::EnrolmentReply
};

/// Checks the request against the database and records its ticket in dedloc_ticket. `secret` is the
/// gateway's key, from which the order of is_asked_for_checkpoint() follows. The first ticket of a
/// key binds it to its result for ever, because dedloc-credit pays a key's contributions to that
/// result.
///
/// `network`: platform::public_network() of the address from which the request comes.
///
/// Errors   Refused, NoSeat, DatabaseError, RefusedData
/// Thread   any, each with its own `database`
/// Cost     ten statements, more for the first ticket of a job; as is_asked_for_checkpoint()
Issued issue_ticket(server::Database& database, const KeyPair& secret,
                    const formats::EnrolmentRequest& request, formats::UtcSeconds now,
                    const TicketLimits& limits = {}, const std::string& network = {});

}  // namespace dedloc::gateway
