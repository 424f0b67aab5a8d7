// dedloc-work: keeps jobs ready for volunteers and closes those that are over, until it is told to
// stop.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>

#include "peer/base/log.hpp"
#include "project_server/daemon.hpp"
#include "project_server/work/work_generator.hpp"

namespace {

using namespace dedloc;

struct Arguments {
    std::filesystem::path project;
    double interval_seconds = 2;
    int seats_ready = 2;
    bool once = false;
};

timespec timespec_of(std::chrono::duration<double> time) {
    const auto all = std::chrono::duration_cast<std::chrono::nanoseconds>(time);
    const auto whole = std::chrono::floor<std::chrono::seconds>(all);
    return {.tv_sec = whole.count(), .tv_nsec = (all - whole).count()};
}

/// Database and generator together: after a failure both are made anew.
struct Shift {
    server::Database database;
    work::WorkGenerator generator;
    Shift(const server::ProjectConfig& config, int seats_ready)
        : database(config.database),
          generator(config, database, {.app = "dedloc_train", .seats_ready = seats_ready}) {}
};

void serve(const Arguments& arguments) {
    const auto signals = server::block_stop_signals();
    const auto config = server::load_project_config(arguments.project);
    const auto interval = timespec_of(std::chrono::duration<double>{arguments.interval_seconds});
    std::unique_ptr<Shift> shift;
    bool is_down = false;
    log_info("Keeping {} jobs of each run ready", arguments.seats_ready);
    do {
        try {
            if (!shift) shift = std::make_unique<Shift>(config, arguments.seats_ready);
            const auto report = shift->generator.pass();
            if (report.cancelled > 0) log_info("{} jobs cancelled", report.cancelled);
            if (report.assimilated > 0) log_info("{} jobs closed", report.assimilated);
            is_down = false;
        } catch (const Error& error) {
            if (arguments.once) throw;
            if (!is_down) log_warning("{} Trying again.", error.what());
            is_down = true;
            shift.reset();
        }
    } while (!arguments.once && sigtimedwait(&signals, nullptr, &interval) < 0);
    if (!arguments.once) log_info("Stopped");
}

}  // namespace

int main(int argc, char** argv) {
    constexpr int kWrongArguments = 2;
    Arguments arguments;
    CLI::App app{"Keeps jobs ready for volunteers and closes those that are over."};
    app.add_option("--project", arguments.project, "Folder of the project")->required();
    app.add_option("--interval", arguments.interval_seconds, "Seconds between two looks")
        ->check(CLI::Range(0.05, 3600.0))
        ->capture_default_str();
    app.add_option("--seats-ready", arguments.seats_ready, "Unsent jobs kept for each running run")
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
    app.add_flag("--once", arguments.once, "Do what is to be done now, then end");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? EXIT_SUCCESS : kWrongArguments;
    }
    start_log("dedloc-work");
    try {
        serve(arguments);
    } catch (const std::exception& error) {
        log_error("{}", error.what());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
