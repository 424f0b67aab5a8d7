#include "project_server/project/last_backup.hpp"

#include <fmt/format.h>

#include <limits>

#include "peer/base/error.hpp"
#include "peer/formats/json_fields.hpp"
#include "peer/platform/files.hpp"
#include "project_server/json/value.hpp"
#include "project_server/project/backup.hpp"

namespace dedloc::project {
namespace {

constexpr const char* kFile = "last_backup.json";
constexpr std::size_t kMaxBytes = 16 * 1024;
constexpr std::size_t kMaxPath = 8 * 1024;
constexpr std::int64_t kDay = 86'400;

}  // namespace

void note_backup(const std::filesystem::path& project, const Backup& backup) {
    json::Value data;
    data.set("created_at", backup.created_at)
        .set("bytes", backup.bytes)
        .set("file", backup.file.string());
    platform::replace_file(project / kFile, json::write(data) + "\n");
}

std::optional<LastBackup> last_backup(const std::filesystem::path& project) {
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (!std::filesystem::exists(project / kFile)) return std::nullopt;
    try {
        const auto json =
            formats::parse_json(kFile, platform::read_text(project / kFile, kMaxBytes), kMaxBytes);
        formats::JsonFields fields{json, "", kFile};
        LastBackup last;
        last.created_at = static_cast<std::int64_t>(fields.integer("created_at", 0, kMax));
        last.bytes = fields.integer("bytes", 0, kMax);
        last.file = fields.text("file", kMaxPath);
        return last;
    } catch (const Error&) {
        return std::nullopt;
    }
}

std::string backup_warning(const std::optional<LastBackup>& last, std::int64_t now) {
    if (!last) return "the project has no backup: dedloc project backup makes one";
    const std::int64_t age = now - last->created_at;
    if (age < kOldBackupSeconds) return "";
    return fmt::format("the last backup is {} days old: dedloc project backup makes a new one",
                       age / kDay);
}

}  // namespace dedloc::project
