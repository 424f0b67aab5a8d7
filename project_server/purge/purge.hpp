// Deletes what a project does not need any more, so that nothing grows for ever: uploaded receipts
// and rows of closed jobs, handled messages, tickets and seats of the past. Each pass does a
// bounded amount of work through indices, and every step may be repeated, so a crash between any
// two statements leaves work for the next pass and nothing else. Credit is not touched: old
// contributions are replaced by their sums (compaction.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/purge/compaction.hpp"
#include "project_server/purge/download_purge.hpp"

namespace dedloc::purge {

/// Settings of a Purge.
struct PurgeOptions {
    std::int64_t grace = 7 * 86'400;  ///< seconds after the last change of a row or file
    /// An official server's file_deleter and db_purge delete jobs, files and messages.
    bool keeps_jobs = false;
    std::int64_t compaction_age = 30 * 86'400;  ///< seconds until contributions are summed by day
    /// The folder of evidence against volunteers (validators/evidence.hpp); empty: none.
    std::filesystem::path evidence{};
    int batch = 200;         ///< rows of one kind in a pass; contributions: in a transaction
    int upload_folders = 8;  ///< folders of the upload tree searched in a pass
};

/// Numbers of things that a pass has deleted.
struct PurgeReport {
    int files = 0;          ///< output files
    int downloads = 0;      ///< files of ended runs and of app versions that are not sent any more
    int jobs = 0;           ///< workunits with their results
    int messages = 0;       ///< trickle-ups and trickle-downs
    int tickets = 0;        ///< rows of dedloc_ticket
    int seats = 0;          ///< rows of dedloc_seat
    int evidence = 0;       ///< files of evidence that no suspicion names any more
    int deleted = 0;        ///< rows about deleted accounts and computers
    int hosts = 0;          ///< computers that have never had a job
    int contributions = 0;  ///< rows of dedloc_contribution that are now in daily sums
};

/// Deletes, a pass at a time. Thread: one.
class Purge {
  public:
    /// `database` must outlive the purge.
    Purge(server::ProjectConfig project, server::Database& database, PurgeOptions options);

    /// Does one pass as of `now`, UTC seconds. A file that cannot be deleted is logged, and its job
    /// is left alone until the next start. Errors: DatabaseError, IoError.
    PurgeReport pass(std::int64_t now);

  private:
    void delete_files(std::int64_t app, std::int64_t before, PurgeReport& report);
    void delete_jobs(std::int64_t app, std::int64_t before, PurgeReport& report);
    /// Deletes uploads of jobs that have no row any more: those that arrived after the purge.
    void sweep_uploads(std::int64_t before, PurgeReport& report);
    void sweep_folder(const std::filesystem::path& folder, std::int64_t before,
                      PurgeReport& report);
    void delete_messages(std::int64_t before, PurgeReport& report);
    void delete_own_messages(std::int64_t before, PurgeReport& report);
    /// Once a day: evidence whose suspicion was pushed out by newer ones of the same account.
    void sweep_evidence(std::int64_t now, PurgeReport& report);
    void delete_deleted(std::int64_t before, PurgeReport& report);
    void delete_tickets(std::int64_t before, PurgeReport& report);
    void delete_seats(std::int64_t before, PurgeReport& report);
    /// Deletes computers without a trace of a job. Looks at `batch` of them.
    void delete_hosts(std::int64_t before, PurgeReport& report);
    std::filesystem::path path_of(const std::string& name) const;

    const server::ProjectConfig config_;
    server::Database& database_;
    const PurgeOptions options_;
    Compaction compaction_;
    DownloadPurge downloads_;
    int next_folder_ = 0;              ///< the upload tree's next folder to search
    std::int64_t evidence_swept_ = 0;  ///< when, UTC seconds
    std::int64_t last_host_ = 0;       ///< the newest computer that was looked at
    std::set<std::int64_t> retried_;   ///< apps whose stuck files were tried again
};

}  // namespace dedloc::purge
