// A verdict is written before the file goes: after a crash in between, the next pass finds a
// verdict and lets the file be, and dedloc-purge deletes it with its job. A file that is accepted
// goes first: after a crash in between, the next pass finds no file, and the row stays open until
// the job is no longer asked.
#include "validators/uploads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/files.hpp"
#include "project_server/database/boinc_apps.hpp"
#include "project_server/database/states.hpp"
#include "project_server/database/suspicions.hpp"
#include "project_server/settings.hpp"
#include "project_server/xml/job_documents.hpp"
#include "validators/output_file.hpp"

namespace dedloc::validation {
namespace {

namespace fs = std::filesystem;
using backbone::UploadVerdict;

constexpr int kAtOnce = 1'000;
/// A file that still waits for the next decision after so long gets a verdict without it.
constexpr std::chrono::hours kLongestWait{24 * 7};

/// The second output file of a job; nothing if its job declares none, or it was not uploaded.
std::optional<fs::path> uploaded(const server::ProjectConfig& project,
                                 const std::string& document) {
    const auto names = server::referenced_files(document);
    if (names.size() != 2) return std::nullopt;
    const fs::path path = output_file_path(project, names[1]);
    std::error_code absent;
    if (!fs::is_regular_file(path, absent)) return std::nullopt;
    return path;
}

}  // namespace

/// A job that was asked, and its file.
struct Uploads::Asked {
    std::int64_t run = 0;
    std::string run_name;
    std::int64_t result = 0;
    std::string result_name;
    std::int64_t user = 0;
    std::int64_t host = 0;
    std::int64_t asked = 0;
    fs::path file;
};

/// What a run's folder says.
class Uploads::RunFolder {
  public:
    explicit RunFolder(const fs::path& folder)
        : run(formats::parse_run_file(platform::read_text(folder / "run.json"))),
          proof(folder / "ledger", run),
          checkpoints(folder / "checkpoints") {}

    const formats::RunFile run;
    backbone::LedgerProof proof;
    const fs::path checkpoints;
};

Uploads::Uploads(server::Database& database, const server::ProjectConfig& project)
    : database_(database), project_(project) {}

Uploads::~Uploads() = default;

const Uploads::RunFolder& Uploads::run_folder(const Asked& asked) {
    auto& folder = runs_[asked.run];
    if (folder) {
        folder->proof.extend();
    } else {
        folder = std::make_unique<RunFolder>(server::state_folder(project_.directory) / "runs" /
                                             asked.run_name);
    }
    return *folder;
}

UploadReport Uploads::pass() {
    UploadReport report;
    std::vector<Asked> found;
    for (const auto& row : database_.query(
             "select u.runid, u.asked, d.name as run_name, r.id, r.name, r.userid, r.hostid, "
             "r.xml_doc_in from dedloc_upload u join result r on r.id = u.resultid join dedloc_run "
             "d on d.id = u.runid where u.verdict = '' order by u.asked limit ?",
             {kAtOnce})) {
        const auto file = uploaded(project_, row.text("xml_doc_in"));
        if (!file) continue;
        found.push_back({.run = row.integer("runid"),
                         .run_name = row.text("run_name"),
                         .result = row.integer("id"),
                         .result_name = row.text("name"),
                         .user = row.integer("userid"),
                         .host = row.integer("hostid"),
                         .asked = row.integer("asked"),
                         .file = *file});
    }
    std::set<std::int64_t> waiting;
    for (const Asked& asked : found) {
        try {
            const bool is_judged = judge(asked);
            failing_.erase(asked.result);
            if (is_judged) {
                ++report.judged;
                continue;
            }
            ++report.waiting;
            waiting.insert(asked.run);
        } catch (const server::DatabaseError&) {
            throw;
        } catch (const Error& error) {
            if (failing_.insert(asked.result).second) {
                log_warning("The checkpoint of {} cannot be judged now: {}", asked.result_name,
                            error.what());
            }
            ++report.waiting;
            runs_.erase(asked.run);
        }
    }
    std::erase_if(runs_, [&](const auto& run) { return !waiting.contains(run.first); });
    return report;
}

/// False: it waits.
bool Uploads::judge(const Asked& asked) {
    const RunFolder& folder = run_folder(asked);
    auto judged = backbone::judge_upload(
        asked.file, folder.run, folder.proof,
        {.was_asked = true,
         .newest = backbone::newest_proven(folder.checkpoints, formats::run_id(folder.run),
                                           folder.proof)});
    if (judged.verdict == UploadVerdict::kPending) {
        const bool is_late =
            std::time(nullptr) - asked.asked > std::chrono::seconds{kLongestWait}.count();
        if (!is_late) return false;
        judged.verdict = UploadVerdict::kStale;
    }
    if (judged.verdict == UploadVerdict::kAccepted) {
        const fs::path taken = backbone::take_upload(
            asked.file, folder.checkpoints, *judged.head,
            fmt::format("user {}, host {}, result {}", asked.user, asked.host, asked.result_name));
        log_info("the checkpoint of {} is {}: {}", asked.result_name, taken.string(),
                 judged.reason);
    } else {
        log_info("the checkpoint of {} is {}: {}", asked.result_name, name_of(judged.verdict),
                 judged.reason);
    }
    record(asked, judged);
    if (judged.verdict != UploadVerdict::kAccepted) platform::remove_or_warn(asked.file);
    return true;
}

void Uploads::record(const Asked& asked, const backbone::JudgedUpload& judged) {
    const auto now = static_cast<std::int64_t>(std::time(nullptr));
    const std::uint64_t step = judged.head ? judged.head->step.value() : 0;
    // A forged step may have any value.
    const auto column = static_cast<std::int64_t>(std::min<std::uint64_t>(step, INT64_MAX));
    if (judged.verdict == UploadVerdict::kForged) {
        server::record_suspicion(
            database_,
            {.source = server::SuspicionSource::kReceipt,
             .run = asked.run,
             .user = asked.user,
             .host = asked.host,
             .what = "uploaded checkpoint is forged",
             .detail = fmt::format("{}: {}", asked.result_name, judged.reason)},
            now);
    }
    database_.execute(
        "update dedloc_upload set verdict = ?, reason = left(?, 254), step = ?, judged = ? where "
        "runid = ? and resultid = ?",
        {name_of(judged.verdict), judged.reason, column, now, asked.run, asked.result});
}

UploadReport Uploads::delete_unasked() {
    UploadReport report;
    std::int64_t last = 0;
    for (std::size_t jobs = kAtOnce; jobs == kAtOnce;) {
        const auto rows = database_.query(
            fmt::format("select r.id, r.name, r.xml_doc_in from result r join app a on a.id = "
                        "r.appid where a.name in {} and r.server_state = ? and r.id > ? and not "
                        "exists (select 1 from dedloc_upload u where u.resultid = r.id) order by "
                        "r.id limit ?",
                        server::kAppsInSql),
            {server::ServerState::kInProgress, last, kAtOnce});
        jobs = rows.size();
        for (const auto& row : rows) {
            last = row.integer("id");
            const auto file = uploaded(project_, row.text("xml_doc_in"));
            if (!file) continue;
            log_info("the checkpoint of {} is unasked: deleted", row.text("name"));
            platform::remove_or_warn(*file);
            ++report.unasked;
        }
    }
    return report;
}

}  // namespace dedloc::validation
