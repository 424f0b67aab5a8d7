// The subcommands of dedloc-peer. Each adds itself to the command line and is run by its parsing.
#pragma once

#include <CLI/CLI.hpp>

#include "peer/platform/stop_signals.hpp"

namespace dedloc::tool {

/// `signals` outlives the app. Errors of running: InputError (arguments that do not fit), Error.
void add_check_command(CLI::App& app);
void add_create_command(CLI::App& app);
void add_join_command(CLI::App& app, platform::StopSignals& signals);
void add_seed_command(CLI::App& app, platform::StopSignals& signals);
void add_ticket_command(CLI::App& app);

}  // namespace dedloc::tool
