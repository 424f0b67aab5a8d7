// dedloc-peer: a headless member of a swarm with a synthetic gradient, for tests, measurements and
// an administrator's search for trouble.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/allocation.hpp"
#include "peer/platform/descriptors.hpp"
#include "peer/platform/stop_signals.hpp"
#include "peer/tool/commands.hpp"

namespace {

constexpr int kFailure = 1;
constexpr int kWrongArguments = 2;
constexpr int kInterrupted = 130;

/// CLI11's messages are sentences without a full stop, some over several lines: the first one is
/// said.
std::string one_sentence(const CLI::Error& error) {
    const std::string message = error.what();
    return message.substr(0, message.find('\n'));
}

int run(int count, char** words, dedloc::platform::StopSignals& signals) {
    CLI::App app{"Join a DeDLOC@home swarm with a synthetic gradient, to test and to measure."};
    app.name("dedloc-peer");
    app.footer(
        "Prints a line of JSON for each step, and one at the end. Exit status: 1 if something\n"
        "fails, 2 for wrong arguments, 130 after Ctrl-C.\n");
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
