// dedloc-purge: deletes what the project does not need any more, until a stop signal.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <memory>

#include "peer/base/log.hpp"
#include "project_server/daemon.hpp"
#include "project_server/purge/purge.hpp"

namespace {

using namespace dedloc;

constexpr std::int64_t kDay = 86'400;  // seconds

struct Shift {
    server::Database database;
    purge::Purge purge;
    Shift(const server::ProjectConfig& config, const purge::PurgeOptions& options)
        : database(config.database), purge(config, database, options) {}
};

void run_pass(purge::Purge& purge) {
    const auto report = purge.pass(std::time(nullptr));
    if (report.files + report.jobs + report.messages + report.tickets + report.seats +
            report.contributions + report.evidence + report.deleted + report.hosts +
            report.downloads ==
        0) {
        return;
    }
    log_info(
        "deleted {} uploads, {} downloads, {} jobs, {} messages, {} tickets, {} seats, {} "
        "computers, {} files of "
        "evidence and {} rows about deleted accounts, summed {} contributions",
        report.files, report.downloads, report.jobs, report.messages, report.tickets, report.seats,
        report.hosts, report.evidence, report.deleted, report.contributions);
}

}  // namespace

int main(int argc, char** argv) {
    purge::PurgeOptions options;
    std::int64_t days = options.grace / kDay;
    std::int64_t compaction_days = options.compaction_age / kDay;
    const server::LoopDaemon daemon{
        .name = "dedloc-purge",
        .purpose = "Deletes files and rows of closed jobs, messages, old tickets and seats.",
        .once = "Do one pass, then exit",
        .interval_seconds = 60,
        .add_options =
            [&](CLI::App& app) {
                app.add_option("--days", days, "Keep everything for so long after its last change")
                    ->check(CLI::Range(1, 10'000))
                    ->capture_default_str();
                app.add_option("--compact-days", compaction_days,
                               "Replace contributions by sums for each day after so long")
                    ->check(CLI::Range(1, 10'000))
                    ->capture_default_str();
                app.add_flag("--keep-jobs", options.keeps_jobs,
                             "Leave jobs, and what is not ours, to an official server's daemons");
            },
        .connect = [&](const auto& project, const auto&) -> server::LoopDaemon::Look {
            options.grace = days * kDay;
            options.evidence = project / "evidence";
            // Receipts and pages of jobs are compared with single contributions.
            options.compaction_age = std::max(compaction_days, days) * kDay;
            const auto shift =
                std::make_shared<Shift>(server::load_project_config(project), options);
            log_info("Deleting what has not changed for {} days", days);
            return [shift] { run_pass(shift->purge); };
        }};
    return server::run_loop_daemon(argc, argv, daemon);
}
