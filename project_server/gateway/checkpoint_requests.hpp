// Chooses the jobs that are asked to upload the run's state, with their tickets. The project asks
// only while it has no recent checkpoint of its own: its backbone writes few of them, or is away.
#pragma once

#include <chrono>
#include <cstdint>

#include "peer/base/digest.hpp"
#include "peer/formats/ticket.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::gateway {

/// Jobs are chosen once in this time, if no checkpoint of the project is younger.
inline constexpr std::chrono::hours kCheckpointPeriod{6};
/// Jobs that are chosen in each, of different accounts.
inline constexpr std::size_t kUploaders = 2;
/// A computer is chosen only if it uploads a state in this time, as its BOINC client has measured.
inline constexpr std::chrono::hours kUploadTime{1};
/// A job that was chosen is asked for so long.
inline constexpr std::chrono::hours kAskedFor{24};

/// A job that gets a ticket.
struct AskedJob {
    std::int64_t run = 0;        ///< dedloc_run.id
    std::int64_t result = 0;     ///< its result
    bool only_averages = false;  ///< it holds no state
};

/// Whether this job is asked for the run's state. The first ticket of a period chooses for all: of
/// each account with suitable jobs one, and of these the ones whose accounts come first in an order
/// that only `secret`, the gateway's key, determines and that differs in each period. So no account
/// can make itself chosen more often than others, however often it asks and however many jobs it
/// has.
///
/// Errors   DatabaseError; InputError: the run's row has no run file
/// Thread   any, each with its own `database`
/// Cost     one statement if the job or others are chosen already, four more while none is wanted
bool is_asked_for_checkpoint(server::Database& database, const KeyPair& secret, const AskedJob& job,
                             formats::UtcSeconds now);

}  // namespace dedloc::gateway
