// The main function of a program that consists of subcommands.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "peer/platform/stop_signals.hpp"

namespace dedloc::tool {

/// A program of subcommands.
struct Program {
    std::string name;     ///< in messages and in the log
    std::string purpose;  ///< the first line of --help
    /// Adds the subcommands, which CLI11 runs while it parses. The signals outlive the app.
    std::function<void(CLI::App&, platform::StopSignals&)> add_commands;
};

/// Starts the log, parses the arguments and runs the subcommand. Returns the exit status: 1 after a
/// failure, 2 for wrong arguments, 130 after Ctrl-C.
int run_program(const Program& program, int count, char** words);

}  // namespace dedloc::tool
