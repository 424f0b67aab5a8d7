// dedloc-work: keeps jobs ready for volunteers and closes finished jobs, until a stop signal.
#include <CLI/CLI.hpp>
#include <memory>

#include "peer/base/log.hpp"
#include "project_server/daemon.hpp"
#include "project_server/work/work_generator.hpp"

namespace {

using namespace dedloc;

struct Shift {
    server::Database database;
    work::WorkGenerator generator;
    Shift(const server::ProjectConfig& config, int seats_ready)
        : database(config.database),
          generator(config, database, {.app = "dedloc_train", .seats_ready = seats_ready}) {}
};

void run_pass(work::WorkGenerator& generator) {
    const auto report = generator.pass();
    if (report.cancelled > 0) log_info("{} jobs cancelled", report.cancelled);
    if (report.assimilated > 0) log_info("{} jobs closed", report.assimilated);
}

}  // namespace

int main(int argc, char** argv) {
    int seats_ready = work::WorkOptions{}.seats_ready;
    const server::LoopDaemon daemon{
        .name = "dedloc-work",
        .purpose = "Keeps jobs ready for volunteers and closes finished jobs.",
        .once = "Do one pass, then exit",
        .add_options =
            [&](CLI::App& app) {
                app.add_option("--seats-ready", seats_ready,
                               "Unsent jobs kept for each running run")
                    ->check(CLI::Range(1, 10'000))
                    ->capture_default_str();
            },
        .connect = [&](const auto& project, const auto&) -> server::LoopDaemon::Look {
            const auto shift =
                std::make_shared<Shift>(server::load_project_config(project), seats_ready);
            log_info("Keeping {} jobs of each run ready", seats_ready);
            return [shift] { run_pass(shift->generator); };
        }};
    return server::run_loop_daemon(argc, argv, daemon);
}
