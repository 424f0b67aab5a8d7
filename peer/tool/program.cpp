// CLI11 runs a subcommand while it parses, so its errors come out of run(); run_program() turns
// them into one sentence and an exit status.
#include "peer/tool/program.hpp"

#include <cstdio>
#include <exception>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/base/version.hpp"
#include "peer/platform/allocation.hpp"
#include "peer/platform/descriptors.hpp"

namespace dedloc::tool {
namespace {

constexpr int kFailure = 1;
constexpr int kWrongArguments = 2;
constexpr int kInterrupted = 130;

/// The first line of CLI11's message, a sentence without a full stop.
std::string one_sentence(const CLI::Error& error) {
    const std::string message = error.what();
    return message.substr(0, message.find('\n'));
}

int run(const Program& program, int count, char** words, platform::StopSignals& signals) {
    CLI::App app{program.purpose};
    app.name(program.name);
    app.footer(
        "Prints a line of JSON for each step and one at the end. Exit status: 1 after a\n"
        "failure, 2 for wrong arguments, 130 after Ctrl-C.\n");
    app.set_version_flag("--version", program.name + " " + version());
    app.require_subcommand(1);
    program.add_commands(app, signals);
    try {
        app.parse(count, words);
    } catch (const CLI::Success& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        std::fprintf(stderr, "%s: %s (see %s --help)\n", program.name.c_str(),
                     one_sentence(error).c_str(), program.name.c_str());
        return kWrongArguments;
    }
    return signals.is_interrupted() ? kInterrupted : 0;
}

}  // namespace

int run_program(const Program& program, int count, char** words) {
    platform::keep_freed_memory();
    platform::raise_descriptor_limit();
    platform::StopSignals signals;
    start_log(program.name);
    try {
        return run(program, count, words, signals);
    } catch (const InputError& error) {
        std::fprintf(stderr, "%s: %s\n", program.name.c_str(), error.what());
        return kWrongArguments;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", program.name.c_str(), error.what());
        return kFailure;
    }
}

}  // namespace dedloc::tool
