// dedloc-peer: a headless member of a swarm with a synthetic gradient, for tests, measurements and
// troubleshooting. Each subcommand is run by CLI11 while it parses, so its errors come out of
// run(); main() turns them into one sentence and an exit status.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/base/version.hpp"
#include "peer/platform/allocation.hpp"
#include "peer/platform/descriptors.hpp"
#include "peer/platform/stop_signals.hpp"
#include "peer/tool/commands.hpp"

namespace {

constexpr int kFailure = 1;
constexpr int kWrongArguments = 2;
constexpr int kInterrupted = 130;

/// The first line of CLI11's message, a sentence without a full stop.
std::string one_sentence(const CLI::Error& error) {
    const std::string message = error.what();
    return message.substr(0, message.find('\n'));
}

int run(int count, char** words, dedloc::platform::StopSignals& signals) {
    CLI::App app{"Join a DeDLOC@home swarm with a synthetic gradient, for tests and measurements."};
    app.name("dedloc-peer");
    app.footer(
        "Prints a line of JSON for each step and one at the end. Exit status: 1 after a\n"
        "failure, 2 for wrong arguments, 130 after Ctrl-C.\n");
    app.set_version_flag("--version", "dedloc-peer " + dedloc::version());
    app.require_subcommand(1);
    dedloc::tool::add_check_command(app);
    dedloc::tool::add_create_command(app);
    dedloc::tool::add_seed_command(app, signals);
    dedloc::tool::add_join_command(app, signals);
    dedloc::tool::add_ticket_command(app);
    try {
        app.parse(count, words);
    } catch (const CLI::Success& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        std::fprintf(stderr, "dedloc-peer: %s (see dedloc-peer --help)\n",
                     one_sentence(error).c_str());
        return kWrongArguments;
    }
    return signals.is_interrupted() ? kInterrupted : 0;
}

}  // namespace

int main(int count, char** words) {
    dedloc::platform::keep_freed_memory();
    dedloc::platform::raise_descriptor_limit();
    dedloc::platform::StopSignals signals;
    dedloc::start_log("dedloc-peer");
    try {
        return run(count, words, signals);
    } catch (const dedloc::InputError& error) {
        std::fprintf(stderr, "dedloc-peer: %s\n", error.what());
        return kWrongArguments;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "dedloc-peer: %s\n", error.what());
        return kFailure;
    }
}
