// Evidence against volunteers: the table dedloc_suspicion. It is for the administrator to read;
// nothing acts on it.
#pragma once

#include <cstdint>
#include <string>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Rows of one account, or of all peers without an account. When one more is needed the one that
/// was seen last the longest ago goes, so a liar can only push out the evidence of its own lies.
inline constexpr int kMaxSuspicions = 200;

/// Who noticed it.
enum class SuspicionSource : std::uint8_t {
    kSwarm,    ///< the run's backbone, as a voter
    kReceipt,  ///< dedloc-validator, which refused a signed receipt
    kTicket,   ///< dedloc-gateway, which refused a ticket
};
/// "swarm", "receipt" or "ticket".
const char* name_of(SuspicionSource source);

/// One thing that was noticed.
struct Suspicion {
    SuspicionSource source = SuspicionSource::kSwarm;  ///< who noticed it
    std::int64_t run = 0;                              ///< dedloc_run.id; 0: none
    std::int64_t user = 0;                             ///< BOINC's id; 0: unknown
    std::int64_t host = 0;                             ///< BOINC's id; 0: unknown
    std::string key{};                                 ///< the peer's key in hex; empty: none
    std::string what{};       ///< kind of fault: the same for each repetition
    std::string detail{};     ///< this time's sentence
    std::uint64_t step = 0;   ///< number of updates done
    std::string evidence{};   ///< a file below the project's folder; empty: none
    std::uint64_t times = 1;  ///< how often since the last call
};

/// Adds it, or counts it with its like. Texts that are too long are cut, and bytes that are not
/// plain ASCII replaced. Errors: DatabaseError.
/// Cost: two statements, four when a new row is made.
void record_suspicion(Database& database, const Suspicion& suspicion, std::int64_t now);

/// A sentence without its numbers and keys, which differ each time: digits become "#" and words
/// that look like keys go. "8f3a… claims 12 samples" is "claims # samples".
std::string kind_of_fault(const std::string& sentence);

}  // namespace dedloc::server
