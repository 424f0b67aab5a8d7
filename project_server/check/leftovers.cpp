#include <fmt/format.h>
#include <sys/stat.h>

#include <string>

#include "project_server/check/checks.hpp"

namespace dedloc::check {
namespace {

namespace fs = std::filesystem;

constexpr double kHour = 3'600;
constexpr double kDay = 86'400;
constexpr int kMaxDepth = 4;  ///< folders below the one searched

/// Whether this is the name of a file or folder that gets its name only when it is complete.
bool is_temporary(const std::string& name) {
    return name.ends_with(".tmp") || name.ends_with(".unfinished") ||
           (name.starts_with('.') && name.find(".unfinished-") != std::string::npos);
}

/// Age of the last change in seconds; negative if it is gone.
double age_of(const fs::path& path, double now) {
    struct stat facts {};
    if (lstat(path.c_str(), &facts) != 0) return -1;
    return now - static_cast<double>(facts.st_mtime);
}

void search(const fs::path& folder, double age, double now, Findings& findings) {
    std::error_code failed;
    for (fs::recursive_directory_iterator entry{folder, failed}, end; !failed && entry != end;
         entry.increment(failed)) {
        if (entry.depth() >= kMaxDepth) entry.disable_recursion_pending();
        const fs::path& path = entry->path();
        if (!is_temporary(path.filename().string())) continue;
        entry.disable_recursion_pending();
        const double seconds = age_of(path, now);
        if (seconds < age) continue;
        findings.warning(fmt::format("{} was left {:.0f} hours ago by a write that never ended",
                                     path.string(), seconds / kHour),
                         fmt::format("rm -r {}", path.string()));
    }
}

}  // namespace

void check_leftovers(const Subject& subject, Findings& findings) {
    // Writes take seconds, copies of shards minutes, and uploads are resumed for days.
    for (const char* const folder : {"runs", "keys", "evidence", "html", "nginx"}) {
        search(subject.state() / folder, kHour, subject.now, findings);
    }
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator{subject.state(), failed}) {
        const std::string name = entry.path().filename().string();
        if (!is_temporary(name) || age_of(entry.path(), subject.now) < kHour) continue;
        findings.warning(
            fmt::format("{} was left by a write that never ended", entry.path().string()),
            fmt::format("rm -r {}", entry.path().string()));
    }
    search(subject.config.download_directory, kHour, subject.now, findings);
    if (!subject.is_official()) {
        search(subject.config.upload_directory, kDay, subject.now, findings);
    }
    if (findings.is_clean()) findings.good("no process has left an unfinished file or folder");
}

}  // namespace dedloc::check
