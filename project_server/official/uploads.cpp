// A name RUN_JOB_INSTANCE_rRANDOM_FILE tells whose file it is, so the rows of other apps are not
// read, however many files these have there.
#include "project_server/official/uploads.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "peer/base/log.hpp"
#include "project_server/database/boinc_apps.hpp"
#include "project_server/database/states.hpp"
#include "project_server/xml/job_documents.hpp"

namespace dedloc::official {
namespace {

namespace fs = std::filesystem;

/// The run of a result RUN_JOB_INSTANCE; empty for another form.
std::string run_of(std::string result) {
    for (int numbers = 0; numbers < 2; ++numbers) {
        const auto end = result.rfind('_');
        if (end == std::string::npos || end + 1 == result.size()) return {};
        if (result.find_first_not_of("0123456789", end + 1) != std::string::npos) return {};
        result.resize(end);
    }
    return result;
}

bool is_folder_of_tree(const fs::path& folder) {
    const std::string name = folder.filename().string();
    return !name.empty() && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

class Sweeper {
  public:
    Sweeper(server::Database& database, const UploadSweep& sweep)
        : database_(database), sweep_(sweep) {
        for (const auto& row : database.query("select name from dedloc_run")) {
            runs_.insert(row.text("name"));
        }
    }

    int count() const { return count_; }
    void sweep(const fs::path& folder, bool is_of_tree) {
        std::vector<fs::path> files;
        std::error_code unreadable;
        for (fs::directory_iterator entry{folder, unreadable}, end; !unreadable && entry != end;
             entry.increment(unreadable)) {
            files.push_back(entry->path());
        }
        bool has_deleted = false;
        for (const auto& file : files) has_deleted = take(file) || has_deleted;
        std::error_code is_used;
        if (has_deleted && is_of_tree) fs::remove(folder, is_used);
    }

  private:
    bool take(const fs::path& file) {
        struct stat facts {};
        if (lstat(file.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
        const std::string result = server::result_of_output(file.filename().string());
        if (!runs_.contains(run_of(result)) || !may_go(result, facts.st_mtime)) return false;
        std::error_code failure;
        if (fs::remove(file, failure)) ++count_;
        if (failure) log_warning("cannot delete {}: {}", file.string(), failure.message());
        return !failure;
    }
    bool may_go(const std::string& result, std::int64_t changed) {
        if (sweep_.takes_all) return true;
        const auto row = database_.query_one(
            "select r.file_delete_state, a.name as app from result r left join app a on "
            "a.id = r.appid where r.name = ?",
            {result});
        if (!row) return changed < sweep_.before;
        const bool is_ours =
            !row->is_null("app") &&
            std::ranges::find(server::kApps, row->text("app")) != server::kApps.end();
        return is_ours && server::state_of<server::FileDeleteState>(*row, "file_delete_state") !=
                              server::FileDeleteState::kInit;
    }

    server::Database& database_;
    const UploadSweep sweep_;
    std::set<std::string> runs_;
    int count_ = 0;
};

}  // namespace

int delete_uploads(const server::ProjectConfig& config, server::Database& database,
                   const UploadSweep& sweep) {
    Sweeper sweeper{database, sweep};
    sweeper.sweep(config.upload_directory, false);
    std::error_code unreadable;
    std::vector<fs::path> folders;
    for (fs::directory_iterator entry{config.upload_directory, unreadable}, end;
         !unreadable && entry != end; entry.increment(unreadable)) {
        if (is_folder_of_tree(entry->path()) && fs::is_directory(entry->symlink_status())) {
            folders.push_back(entry->path());
        }
    }
    for (const auto& folder : folders) sweeper.sweep(folder, true);
    return sweeper.count();
}

}  // namespace dedloc::official
