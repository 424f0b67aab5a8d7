// Who gets a ticket: whoever works on a job of a run, for the key that they name.
#pragma once

#include "peer/base/digest.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/enrolment.hpp"
#include "project_server/database/revocations.hpp"

namespace dedloc::gateway {

/// No ticket, for a reason that the volunteer reads.
class Refused : public Error {
  public:
    using Error::Error;
};

/// No ticket now; asking again makes sense.
class NotNow : public Error {
  public:
    using Error::Error;
};

/// A result that was started again keeps its key; one that wants many is not one computer. Those
/// who ask in the same moment may get a few more.
inline constexpr int kKeysOfAResult = 8;

/// What the BOINC client says of a computer's connection is believed from a slow modem's to a
/// gigabit's. It averages over the files that it has transferred: of a small one that came with the
/// headers it makes many gigabits, and a peer lowers a guess only by a quarter a round.
inline constexpr double kSlowestBytesPerSecond = 1e3;
inline constexpr double kFastestBytesPerSecond = 125e6;

struct Issued {
    formats::SignedTicket ticket;
    // As in formats::EnrolmentReply.
    std::uint64_t upload_bytes_per_second = 0;
    std::uint64_t download_bytes_per_second = 0;
};

/// Asks the database whether the request is true, and signs. What was issued is kept in
/// dedloc_ticket.
///
/// Errors   Refused, NotNow, DatabaseError
/// Thread   any, each with its own `database`
/// Cost     three statements, one signature
Issued issue_ticket(server::Database& database, const KeyPair& project,
                    const formats::EnrolmentRequest& request, formats::UtcSeconds now);

}  // namespace dedloc::gateway
