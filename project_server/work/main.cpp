// dedloc-work: keeps jobs ready for volunteers and closes finished jobs, until a stop signal.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "peer/base/log.hpp"
#include "project_server/daemon.hpp"
#include "project_server/work/work_generator.hpp"

namespace {

using namespace dedloc;

struct Shift {
    server::Database database;
    work::WorkGenerator generator;
    Shift(const server::ProjectConfig& config, const work::WorkOptions& options)
        : database(config.database), generator(config, database, options) {}
};

void run_pass(work::WorkGenerator& generator) {
    const auto report = generator.pass();
    if (report.blacklisted > 0) {
        log_info("the blacklisting of {} computers follows the bans", report.blacklisted);
    }
    if (report.cancelled > 0) log_info("{} jobs cancelled", report.cancelled);
    if (report.assimilated > 0) log_info("{} jobs closed", report.assimilated);
}

}  // namespace

int main(int argc, char** argv) {
    work::WorkOptions options;
    std::optional<std::uint64_t> app_megabytes;
    const server::LoopDaemon daemon{
        .name = "dedloc-work",
        .purpose = "Keeps jobs ready for volunteers and closes finished jobs.",
        .once = "Do one pass, then exit",
        .add_options =
            [&](CLI::App& app) {
                app.add_option("--seats-ready", options.seats_ready,
                               "Unsent jobs kept for each running run")
                    ->check(CLI::Range(1, 10'000))
                    ->capture_default_str();
                app.add_option("--lease-hours", options.lease_hours,
                               "Hours of computing after which a job reports")
                    ->check(CLI::Range(1, 1'000))
                    ->capture_default_str();
                app.add_option("--app-megabytes", app_megabytes,
                               "Added to the disk limit of jobs for the files of the app version. "
                               "Default: under an official BOINC server the size of the largest "
                               "version of the app that is offered; else 0, because the project's "
                               "scheduler adds them")
                    ->check(CLI::Range(0, 1'000'000));
            },
        .connect = [&](const auto& project, const auto&) -> server::LoopDaemon::Look {
            if (app_megabytes) options.app_bytes = *app_megabytes * 1'000'000;
            const auto shift =
                std::make_shared<Shift>(server::load_project_config(project), options);
            log_info("Keeping {} jobs of each run ready", options.seats_ready);
            return [shift] { run_pass(shift->generator); };
        }};
    return server::run_loop_daemon(argc, argv, daemon);
}
