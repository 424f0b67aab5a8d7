// When peers took part in a run: the table dedloc_presence, from which the sessions of volunteers
// and the devices' time are computed.
//
// The ledger proves each presence: the voters committed samples or averages of the peer at its
// steps, by the backbone's clock. A member can prolong one only by contributing. The owner is that
// of the project's ticket, and the version the one that the project has sent. Only the device rests
// on what the client has reported.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// A peer that does not take part for longer has left, and a new presence begins when it is back;
/// so has a computer with all its peers. It is longer than a client needs to report a job and to
/// begin the next one. Seconds.
inline constexpr std::int64_t kPresenceGap = 900;
/// The most that one contribution proves: a step lasts as long as the time since the commit before,
/// which includes pauses of the run. Seconds.
inline constexpr std::int64_t kLongestStep = 3600;

/// A stretch in which a peer took part in a run without a gap of more than kPresenceGap.
struct Presence {
    std::string key{};                ///< the peer's, in hex
    std::int64_t began = 0;           ///< begin of its first step, UTC seconds
    std::int64_t ended = 0;           ///< commit of its last step so far, UTC seconds
    std::uint64_t contributions = 0;  ///< steps in which it took part
    std::uint64_t samples = 0;        ///< that were committed
    std::uint64_t reduced_bytes = 0;  ///< that it averaged
    std::int64_t user = 0;            ///< BOINC's id; 0: a key without a ticket
    std::int64_t host = 0;            ///< BOINC's id; 0: unknown
    std::int64_t version = 0;         ///< version_num of its app; 0: unknown
    std::string plan_class{};         ///< its app version's
    std::string device{};             ///< its GPU or processor, as its client calls it
};

/// Writes a row, or brings the row of the same key and begin up to date; repeating that changes
/// nothing. The last five fields are not used: the database fills them in when the row is new.
/// Errors: DatabaseError, RefusedData. Cost: one statement with four look-ups by primary keys.
void record_presence(Database& database, std::int64_t run, const Presence& presence);

/// Presences in a run of peers with a ticket, by computer and begin; only those that ended at
/// `since` (UTC seconds) or later. Errors: DatabaseError. Cost: all of the run's rows.
std::vector<Presence> read_presences(Database& database, std::int64_t run, std::int64_t since = 0);

}  // namespace dedloc::server
