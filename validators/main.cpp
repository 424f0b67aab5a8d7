// dedloc-validator: judges jobs that came home and grants their credit, until it is told to stop.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>

#include "peer/base/log.hpp"
#include "project_server/daemon.hpp"
#include "validators/boinc_connection.hpp"
#include "validators/validator.hpp"

namespace {

using namespace dedloc;

struct Arguments {
    std::filesystem::path project;
    double interval_seconds = 2;
    bool once = false;
};

/// True when a stop signal came within that time.
bool is_stopped_within(const sigset_t& signals, std::chrono::duration<double> time) {
    const auto whole = std::chrono::floor<std::chrono::seconds>(time);
    const timespec limit{.tv_sec = whole.count(),
                         .tv_nsec =
                             std::chrono::nanoseconds{
                                 std::chrono::duration_cast<std::chrono::nanoseconds>(time - whole)}
                                 .count()};
    return sigtimedwait(&signals, nullptr, &limit) > 0;
}

void serve(const Arguments& arguments) {
    const auto signals = server::block_stop_signals();
    std::unique_ptr<validation::BoincConnection> connection;
    std::unique_ptr<validation::Validator> validator;
    bool is_down = false;
    do {
        try {
            if (!connection) {
                connection = std::make_unique<validation::BoincConnection>(arguments.project);
                validator = std::make_unique<validation::Validator>(*connection,
                                                                    validation::ValidatorOptions{});
                log_info("Judging the jobs of {}", arguments.project.string());
            }
            validator->pass();
            is_down = false;
        } catch (const InputError&) {
            throw;
        } catch (const Error& error) {
            if (arguments.once) throw;
            if (!is_down) log_warning("{} Trying again.", error.what());
            is_down = true;
            validator.reset();
            connection.reset();
        }
    } while (!arguments.once && !is_stopped_within(signals, std::chrono::duration<double>{
                                                                arguments.interval_seconds}));
    if (!arguments.once) log_info("Stopped");
}

}  // namespace

int main(int argc, char** argv) {
    constexpr int kWrongArguments = 2;
    Arguments arguments;
    CLI::App app{"Judges the receipts of finished jobs and grants their credit."};
    app.add_option("--project", arguments.project, "Folder of the project")->required();
    app.add_option("--interval", arguments.interval_seconds, "Seconds between two looks")
        ->check(CLI::Range(0.05, 3600.0))
        ->capture_default_str();
    app.add_flag("--once", arguments.once, "Judge what waits now, then end");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? EXIT_SUCCESS : kWrongArguments;
    }
    start_log("dedloc-validator");
    try {
        serve(arguments);
    } catch (const std::exception& error) {
        log_error("{}", error.what());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
