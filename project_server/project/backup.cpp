// BackupRun::run() keeps an order that makes the copy of a running project consistent: pending
// revocations, the database, the files, then of each run the checkpoints and last the ledger. The
// ledger is read before its checkpoints are chosen and is copied up to the record that was read
// then; add_history() waits a few seconds for the checkpoint of that record. The archive grows in a
// hidden folder beside the target and is renamed when it is complete. A shared lock on keys/ keeps
// keys and signatures of one moment.
#include "project_server/project/backup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/base/utc_text.hpp"
#include "peer/base/version.hpp"
#include "peer/platform/clock.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/folder_lock.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/ledger.hpp"
#include "project_server/backbone/ledger_states.hpp"
#include "project_server/backbone/run_files.hpp"
#include "project_server/database/dump.hpp"
#include "project_server/json/value.hpp"
#include "project_server/project/archive.hpp"
#include "project_server/project/project.hpp"
#include "project_server/project/unfinished_folder.hpp"

namespace dedloc::project {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// The backbone may write checkpoints more rarely than once a step.
constexpr auto kCheckpointTimeout = 5s;

constexpr const char* kReadme = R"(A backup of a DeDLOC@home project.

THIS FILE CONTAINS SECRETS: the project's keys, which sign what volunteers' computers run, the
database with e-mail addresses and password hashes, and the password of the mail relay if there is
one. Keep it where only the project's administrators can read it.

    dedloc project restore THIS_FILE NEW_FOLDER

makes the project again. Never let the old project and the restored one run at the same time.
Without dedloc: tar --zstd -xf THIS_FILE, then sha256sum -c SHA256SUMS.
)";

/// Files and folders of the project that are backed up whole; an absent one is left out.
constexpr auto kProjectParts = {"dedloc.json", "config.xml", "keys",    "templates",
                                "download",    "upload",     "evidence"};
/// The same in a run's folder, without checkpoints and ledger.
constexpr auto kRunParts = {"run.json",       "backbone.key",   "tokenizer.model",
                            "tokenizer.json", "corpus.json",    "tensors.json",
                            "module",         "shards",         "held_out",
                            "norms",          "voters.json",    "masked_sentences.txt",
                            "pause",          "mixture",        "added",
                            "revocations",    "output_template"};
constexpr const char* kPendingRevocations = "pending_revocations";

/// A file to back up.
struct Source {
    fs::path path;     ///< on the disk
    std::string name;  ///< in the archive
};

std::string archive_name(const fs::path& project, const fs::path& file) {
    return kBackupProjectPrefix + file.lexically_relative(project).generic_string();
}

/// The regular files at and below `path`, in the order of their names. What is removed meanwhile
/// does not count.
void collect(const fs::path& project, const fs::path& path, std::vector<Source>& sources) {
    std::error_code gone;
    if (fs::is_regular_file(path, gone)) {
        sources.push_back({path, archive_name(project, path)});
        return;
    }
    std::vector<fs::path> inside;
    for (fs::directory_iterator item{path, gone}; !gone && item != fs::directory_iterator{};
         item.increment(gone)) {
        if (item->path().extension() != ".tmp") inside.push_back(item->path());
    }
    std::ranges::sort(inside);
    for (const auto& item : inside) collect(project, item, sources);
}

std::vector<fs::path> folders_to_back_up(const fs::path& project) {
    std::vector<fs::path> folders;
    for (const auto& entry : fs::directory_iterator{project / "runs"}) {
        if (fs::exists(entry.path() / "run.json")) folders.push_back(entry.path());
    }
    std::ranges::sort(folders);
    return folders;
}

/// backup.json.
std::string facts(const fs::path& project, const server::Settings& settings,
                  std::int64_t created_at) {
    json::Value data;
    data.set("format", kBackupFormat)
        .set("program", version())
        .set("name", settings.name)
        .set("url", settings.url)
        .set("folder", project.string())
        .set("created_at", created_at);
    return json::write(data) + "\n";
}

/// The file to write: in a folder one with the project's name and the time.
fs::path target_of(const BackupOptions& options, const fs::path& project, std::int64_t now) {
    const auto target = fs::absolute(options.to).lexically_normal();
    if (!fs::is_directory(target)) return target;
    return target / fmt::format("{}-{}.tar.zst", project.filename().string(),
                                utc_text(now, "%Y%m%d-%H%M%S"));
}

/// One backup under way.
class BackupRun {
  public:
    BackupRun(const BackupOptions& options, const BackupWatch& watch)
        : options_(options),
          project_(own_project(options.project,
                               "back up its database and its folder {} with dedloc/ as you back "
                               "up the rest of the project")),
          settings_(server::read_settings(project_)),
          created_at_(platform::utc_now().time_since_epoch().count()),
          target_(target_of(options, project_, created_at_)),
          keys_lock_(project_ / "keys", platform::FolderLock::Sharing::kShared),
          scratch_(target_),
          watch_(watch),
          archive_(scratch_.path() / "archive", static_cast<std::time_t>(created_at_),
                   [this](std::uint64_t bytes) { advance(bytes); }) {}

    Backup run() {
        const auto runs = folders_to_back_up(project_);
        archive_.add_text(kBackupFactsName, facts(project_, settings_, created_at_));
        archive_.add_text(kBackupReadmeName, kReadme);
        // What a backbone keeps for the database while that is away is removed once it is in there.
        std::vector<Source> pending;
        for (const auto& run : runs) collect(project_, run / kPendingRevocations, pending);
        add(pending);
        add_database();
        std::vector<Source> files;
        for (const char* const part : kProjectParts) collect(project_, project_ / part, files);
        for (const auto& run : runs) {
            for (const char* const part : kRunParts) collect(project_, run / part, files);
        }
        if (!settings_.mail_credentials.empty()) {
            files.push_back({settings_.mail_credentials, kBackupMailName});
        }
        for (const auto& file : files) progress_.total += size_of(file.path);
        add(files);
        for (const auto& run : runs) add_history(backbone::read_run_files(run));
        archive_.finish();
        const Backup backup{.file = target_,
                            .bytes = fs::file_size(scratch_.path() / "archive"),
                            .files = archive_.files(),
                            .contents = progress_.done,
                            .created_at = created_at_};
        scratch_.finish_with("archive");
        return backup;
    }

  private:
    static std::uint64_t size_of(const fs::path& file) {
        std::error_code gone;
        const auto bytes = fs::file_size(file, gone);
        return gone ? 0 : bytes;
    }
    void advance(std::uint64_t bytes) {
        progress_.done += bytes;
        progress_.total = std::max(progress_.total, progress_.done);
        watch_(progress_);
    }
    void add(const std::vector<Source>& sources) {
        for (const auto& source : sources) {
            if (names_.insert(source.name).second) archive_.add_file(source.name, source.path);
        }
    }
    void add_database() {
        const fs::path dump = scratch_.path() / kBackupDatabaseName;
        ProjectDatabase access{project_};
        server::dump_database(access.database().settings(), dump, scratch_.path());
        progress_.total += size_of(dump);
        add({{dump, kBackupDatabaseName}});
        fs::remove(dump);
    }
    /// The ledger as it is now, and the checkpoint of the state that it leads to, which the
    /// backbone writes a moment after the record: with both, the restored one goes on at once.
    void add_history(const backbone::RunFiles& run) {
        backbone::LedgerStates states;
        std::uint64_t ledger_bytes = 0;
        StepIndex step;
        if (fs::exists(run.ledger())) {
            backbone::LedgerReader reader{run.ledger(), {run.id, run.run.backbone_key}};
            while (const auto record = reader.next()) states.take(*record);
            ledger_bytes = reader.place().position;
            step = reader.place().codec.head().step;
        }
        const auto deadline = std::chrono::steady_clock::now() + kCheckpointTimeout;
        while (!add_checkpoints(run, states, step) && std::chrono::steady_clock::now() < deadline) {
            watch_(progress_);
            std::this_thread::sleep_for(50ms);
        }
        progress_.total += ledger_bytes;
        archive_.add_file(archive_name(project_, run.ledger()), run.ledger(), ledger_bytes);
    }
    /// Adds those that the ledger leads to, newest first, until one that it proves. False if that
    /// of `last` is not among them, or one has been removed before it could be opened.
    bool add_checkpoints(const backbone::RunFiles& run, const backbone::LedgerStates& states,
                         StepIndex last) {
        if (!fs::is_directory(run.checkpoints())) return true;
        bool has_last = last == StepIndex{0};
        for (const auto& entry : backbone::list_checkpoints(run.checkpoints(), run.id)) {
            const auto standing = states.judge(entry.head);
            const bool is_wanted =
                options_.has_all_checkpoints || standing != backbone::Standing::kUnproven;
            const auto name = archive_name(project_, entry.path);
            has_last = has_last || (is_wanted && entry.head.step == last);
            if (is_wanted && !names_.contains(name)) {
                progress_.total += entry.bytes;
                if (!archive_.add_file(name, entry.path)) return false;
                names_.insert(name);
            }
            const bool is_enough = standing == backbone::Standing::kProven;
            if (is_enough && !options_.has_all_checkpoints) break;
        }
        return has_last;
    }

    const BackupOptions& options_;
    const fs::path project_;
    const server::Settings settings_;
    const std::int64_t created_at_;
    const fs::path target_;
    const platform::FolderLock keys_lock_;  ///< keys and signatures belong together
    UnfinishedFolder scratch_;
    const BackupWatch& watch_;
    BackupProgress progress_;
    std::set<std::string> names_;  ///< in the archive
    ArchiveWriter archive_;
};

}  // namespace

Backup back_up(const BackupOptions& options, const BackupWatch& watch) {
    return BackupRun{options, watch}.run();
}

}  // namespace dedloc::project
