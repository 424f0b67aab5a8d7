// The story of a run, as DeDLOC's authors tell that of sahajBERT: who took part, for how long, on
// which devices, and what came of it.
//
// All of it is of peers with a ticket (database/presence.hpp), so the project's own backbones are
// not in it. A session is what a computer did without a pause of more than kPresenceGap, with all
// its jobs, one after another or side by side. Device time is the sum over all jobs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"
#include "project_server/database/presence.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::server {

/// A device, a version or a country, and what its computers did.
struct StoryShare {
    std::string name{};           ///< as reported; "others": all that are not among the first
    std::int64_t computers = 0;   ///< a country's are those of its volunteers
    std::int64_t volunteers = 0;  ///< accounts
    double seconds = 0;           ///< device time
    std::uint64_t samples = 0;    ///< that were committed
};

/// A run's volunteers. Times in seconds. A volunteer with many clients, or with a device that is
/// not there, is counted as such: nothing is decided by these figures.
struct RunStory {
    std::int64_t began = 0;              ///< begin of the first session, UTC; 0: there was none yet
    std::int64_t ended = 0;              ///< end of the last session, UTC
    std::int64_t volunteers = 0;         ///< accounts, also deleted ones
    std::int64_t computers = 0;          ///< BOINC's ids
    std::int64_t peers = 0;              ///< keys: one for each job
    std::int64_t sessions = 0;           ///< computers' sessions
    double mean_session = 0;             ///< 0 without sessions
    double longest_session = 0;          ///< 0 without sessions
    double device_seconds = 0;           ///< sum over peers
    std::uint64_t contributions = 0;     ///< steps of peers
    std::uint64_t samples = 0;           ///< that were committed
    std::uint64_t reduced_bytes = 0;     ///< that they averaged
    std::vector<StoryShare> devices{};   ///< most device time first, at most kMaxShares
    std::vector<StoryShare> versions{};  ///< "1.03 cuda_dedloc", as devices
    std::vector<StoryShare> countries{};  ///< those that volunteers gave, as devices
};

/// Names of a list; a liar may report any number of them. One more is "others".
inline constexpr std::size_t kMaxShares = 20;

/// A session of a computer.
struct ComputerSession {
    std::int64_t host = 0;   ///< BOINC's id
    std::int64_t user = 0;   ///< BOINC's id
    std::int64_t began = 0;  ///< UTC seconds
    std::int64_t ended = 0;  ///< UTC seconds
};
/// Sessions by computer and begin; the presences are in the order of read_presences(). Those of
/// peers whose computer is not known are sessions each. Cost: O(presences).
std::vector<ComputerSession> sessions_of(const std::vector<Presence>& presences);

/// "1.03 cuda_dedloc" for version_num 103; "unknown" for 0.
std::string version_name(std::int64_t version, const std::string& plan_class);

/// The story so far. Errors: DatabaseError. Cost: a row for each presence, and each account.
RunStory read_story(Database& database, std::int64_t run);

/// {volunteers, computers, peers, sessions, mean_session_seconds, longest_session_seconds,
/// device_seconds, contributions, samples, reduced_bytes, began_at, ended_at, devices: [{name,
/// computers, volunteers, device_seconds, samples}], versions: the same, countries: the same}.
json::Value story_data(const RunStory& story);

}  // namespace dedloc::server
