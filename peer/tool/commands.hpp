// The subcommands of dedloc-peer. Each function adds one; CLI11 runs it while it parses.
#pragma once

#include <CLI/CLI.hpp>

#include "peer/platform/stop_signals.hpp"

namespace dedloc::tool {

/// `signals` must outlive the app. Parsing throws the subcommand's errors: InputError (wrong
/// arguments), Error.
void add_check_command(CLI::App& app);
void add_create_command(CLI::App& app);
void add_join_command(CLI::App& app, platform::StopSignals& signals);
void add_seed_command(CLI::App& app, platform::StopSignals& signals);
void add_ticket_command(CLI::App& app);

}  // namespace dedloc::tool
