// last_backup.json in a project's folder: when `dedloc project backup` last succeeded, so that
// `dedloc project status` can warn of an old one. It is in no backup: a restored project has none
// of its own yet.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace dedloc::project {

struct Backup;

/// What is known of the newest backup.
struct LastBackup {
    std::int64_t created_at = 0;  ///< UTC seconds
    std::uint64_t bytes = 0;      ///< size of the archive
    std::string file{};           ///< where it was written; it may be elsewhere by now
};

/// Age from which on a backup is old: a week.
inline constexpr std::int64_t kOldBackupSeconds = 7 * 86'400;

/// Notes a backup that is complete. Errors: IoError.
void note_backup(const std::filesystem::path& project, const Backup& backup);
/// The last one noted; nothing if there is none, or if the file is damaged.
std::optional<LastBackup> last_backup(const std::filesystem::path& project);
/// A sentence if there is none, or if it is old at `now` (UTC seconds); else empty.
std::string backup_warning(const std::optional<LastBackup>& last, std::int64_t now);

}  // namespace dedloc::project
