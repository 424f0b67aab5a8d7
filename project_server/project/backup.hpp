// Backups of a project: one archive (archive.hpp) from which restore.hpp makes the project again.
//
// Contents   README, backup.json, database.sql, mail_credentials if there are any, and below
//            project/ the project's files: settings, keys, files for volunteers, uploads,
//            evidence, and of each run what its backbone cannot make again
// Left out   logs, process ids, sockets, the files of MariaDB and nginx, statistics, and the vote
//            memory of each run (restore.hpp says why)
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace dedloc::project {

/// First line of the format; another number is refused.
inline constexpr const char* kBackupFormat = "dedloc backup 1";

/// Names in the archive.
inline constexpr const char* kBackupFactsName = "backup.json";
inline constexpr const char* kBackupDatabaseName = "database.sql";  ///< the dump
inline constexpr const char* kBackupReadmeName = "README";          ///< how to restore it
inline constexpr const char* kBackupMailName = "mail_credentials";
inline constexpr const char* kBackupProjectPrefix = "project/";

/// How far a backup or a restore is.
struct BackupProgress {
    std::uint64_t done = 0;   ///< bytes of contents
    std::uint64_t total = 0;  ///< estimated from the sizes of the files
};
/// Called for every few bytes; may throw to interrupt.
using BackupWatch = std::function<void(const BackupProgress&)>;

/// Arguments of back_up().
struct BackupOptions {
    std::filesystem::path project;     ///< the project's folder
    std::filesystem::path to;          ///< the file to write, or an existing folder for it
    bool has_all_checkpoints = false;  ///< false: the newest of each run that the ledger proves
};

/// What back_up() has written.
struct Backup {
    std::filesystem::path file;   ///< the archive
    std::uint64_t bytes = 0;      ///< its size
    std::uint64_t files = 0;      ///< files in it
    std::uint64_t contents = 0;   ///< bytes of contents
    std::int64_t created_at = 0;  ///< UTC seconds
};

/// Backs up a project, whether it runs or not.
///
/// Order    The database is copied before the files, and of each run the ledger last. So every file
///          that the database names is there, the ledger has every step that the database has, and
///          no step is credited that the ledger does not have. The first backbone that runs on the
///          restored project writes the steps of the ledger that the database lacks, once.
/// Crash    at any moment leaves a hidden folder beside the target, which the next backup to it
///          removes; the project is only read
/// Errors   InputError (no project, the file exists), IoError (disk full, …), DatabaseError
Backup back_up(const BackupOptions& options, const BackupWatch& watch);

}  // namespace dedloc::project
