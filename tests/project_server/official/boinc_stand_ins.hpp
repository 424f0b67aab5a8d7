// What BOINC's file_deleter, transitioner and scheduler do to the rows and files of an official
// project, with their arithmetic.
#pragma once

// Must be the first of BOINC's headers: it configures the others.
#include <config.h>

#include <boinc_db_types.h>
#include <sched_util.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/xml/xml.hpp"

namespace dedloc::tests {

inline constexpr int kFileDeleteInit = 0;
inline constexpr int kFileDeleteReady = 1;
inline constexpr int kFileDeleteDone = 2;
inline constexpr int kFileDeleteError = 3;

/// The transitioner's last word: files of a workunit that is assimilated may go, when no result of
/// it is in progress or waits for its verdict.
inline void ready_for_deletion(server::Database& database) {
    database.execute(
        "update workunit w join result r on r.workunitid = w.id set w.file_delete_state = ?, "
        "r.file_delete_state = ? where w.assimilate_state = ? and w.file_delete_state = ? and not "
        "exists (select 1 from result o where o.workunitid = w.id and (o.server_state <> ? or "
        "(o.outcome = ? and o.validate_state = ?)))",
        {kFileDeleteReady, kFileDeleteReady, ASSIMILATE_DONE, kFileDeleteInit,
         RESULT_SERVER_STATE_OVER, RESULT_OUTCOME_SUCCESS, VALIDATE_STATE_INIT});
}

/// What a pass of file_deleter has found.
struct FileDeleterPass {
    std::vector<std::string> critical{};  ///< its messages of the level CRITICAL
    int deleted = 0;
};

/// One pass over results, also over those that had an error before, as it does each hour.
inline FileDeleterPass delete_files(const server::ProjectConfig& config,
                                    server::Database& database) {
    FileDeleterPass pass;
    for (const auto& row : database.query(
             "select id, outcome, xml_doc_in from result where file_delete_state in (?, ?)",
             {kFileDeleteReady, kFileDeleteError})) {
        const std::string document = row.text("xml_doc_in");
        const std::string who = "[RESULT#" + row.text("id") + "] ";
        int state = kFileDeleteDone;
        server::XmlReader reader{document};
        while (const auto element = reader.next()) {
            // No other element of the <file_info> counts, such as the <optional/> of a <file_ref>.
            if (element->name != "file_info") continue;
            if (server::find_element(element->body, "no_delete")) continue;
            const auto name = server::find_element(element->body, "name");
            if (!name) continue;
            std::array<char, 4096> path{};
            dir_hier_path(server::text_value(name->body).c_str(), config.upload_directory.c_str(),
                          config.directory_fanout, path.data(), false);
            const std::filesystem::path file{path.data()};
            if (std::filesystem::exists(file)) {
                std::filesystem::remove(file);
                ++pass.deleted;
            } else if (!std::filesystem::exists(file.parent_path())) {
                state = kFileDeleteError;
                pass.critical.push_back(who + "missing dir for " + file.string());
            } else if (row.integer("outcome") == RESULT_OUTCOME_SUCCESS) {
                pass.critical.push_back(who + "No file " + file.filename().string() + " to delete");
            }
        }
        database.execute("update result set file_delete_state = ? where id = ?",
                         {state, row.integer("id")});
    }
    database.execute("update workunit set file_delete_state = ? where file_delete_state = ?",
                     {kFileDeleteDone, kFileDeleteReady});
    return pass;
}

/// db_purge without a minimal age: it looks at the workunits only.
inline void db_purge(server::Database& database) {
    database.execute(
        "delete r from result r join workunit w on w.id = r.workunitid where "
        "w.file_delete_state = ?",
        {kFileDeleteDone});
    database.execute("delete from workunit where file_delete_state = ?", {kFileDeleteDone});
}

/// The part of the scheduler that a request for processors meets: sched_send.cpp,
/// add_result_to_reply and update_estimated_delay; sched_check.cpp, check_deadline.
struct CpuRequest {
    double seconds = 0;          ///< instance-seconds that the client asks for
    double flops = 1e9;          ///< one processor has so many
    double processors = 1;       ///< the host has so many
    double available = 1;        ///< share of the time in which it computes
    double estimated_delay = 0;  ///< seconds until new work would begin

    /// Whether a job still fits, and is sent. `version_processors`: avg_ncpus of its version.
    bool send(double flops_of_job, double delay_bound, double version_processors) {
        if (seconds <= 0) return false;
        const double projected = flops * version_processors;
        const double duration = flops_of_job / projected / std::max(available, 0.1);
        // Every host gets one job, no matter how slow it is.
        if (estimated_delay > 0 && estimated_delay + duration > delay_bound) return false;
        seconds -= duration * version_processors;
        estimated_delay += duration * version_processors / processors;
        return true;
    }
};

}  // namespace dedloc::tests
