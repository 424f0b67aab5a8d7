// Makes a project again from a backup (backup.hpp).
//
// Votes   The backbone of a run votes (Multi-Paxos), and since the backup it may have voted, or may
//     have begun generations, of which the backup knows nothing. With the memory of its votes from
//     the backup it could vote a second time, so a backup has none. The restored backbone gets a
//     memory that lets it vote only from generation W on, where W is the time of the restore in UTC
//     seconds: higher than every number that was ever signed, because other generations count up
//     by one from 0 or from an earlier W. Its voters.json asks the project for that generation. The
//     backbone signs it once it holds its ledger's last state and, if there are other voters, once
//     so many of them have said that they are not ahead that no decision is missing; until then it
//     fetches what it lacks from them.
// Steps   With other voters no step is lost. Otherwise the run goes on from the backup's ledger:
//     members that are ahead load the state that W begins with and compute the steps again.
//     Contributions to steps that are not in the backup's ledger earn nothing.
// Ids    Numbers that volunteers' clients may have got since the backup are not given out again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"
#include "project_server/project/backup.hpp"

namespace dedloc::project {

/// Arguments of restore().
struct RestoreOptions {
    std::filesystem::path backup;  ///< the archive
    std::filesystem::path folder;  ///< must not exist yet, or be empty
    std::string user{};            ///< root: the account to become; empty: none
    /// An empty database on an existing server; nothing: a private MariaDB.
    std::optional<server::DatabaseSettings> database{};
};

/// A run of a restored project.
struct RestoredRun {
    std::string name;              ///< its name
    std::uint64_t step = 0;        ///< where its ledger ends: updates done
    std::uint64_t generation = 0;  ///< W; 0: the run is finished and needs none
    std::size_t voters = 0;        ///< that the project wants, its own backbone among them
};

/// What restore() has made.
struct Restored {
    std::filesystem::path folder;    ///< absolute
    std::string name;                ///< the project's
    std::string url;                 ///< that volunteers attach to
    std::int64_t created_at = 0;     ///< when the backup was made, UTC seconds
    std::vector<RestoredRun> runs;   ///< ascending by name
    std::vector<std::string> notes;  ///< sentences: what is missing on this machine
};

/// Unpacks the backup beside `folder`, compares every digest, loads the database into a private
/// MariaDB or the existing database, and renames the folder. A failure leaves the existing database
/// empty, as it was.
///
/// Crash    at any moment leaves no `folder`; the same command works again, but a database on an
///          existing server has to be emptied by hand before
/// Errors   InputError (folder exists, another format, a damaged or incomplete backup, a database
///          that cannot be used), IoError
Restored restore(const RestoreOptions& options, const BackupWatch& watch);

}  // namespace dedloc::project
