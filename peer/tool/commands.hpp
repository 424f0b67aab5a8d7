// The subcommands of dedloc-peer. Each function adds one; CLI11 runs it while it parses.
#pragma once

#include <CLI/CLI.hpp>

#include "peer/platform/stop_signals.hpp"
#include "peer/tool/interposer.hpp"

namespace dedloc::tool {

/// `signals` must outlive the app. Parsing throws the subcommand's errors: InputError (wrong
/// arguments), Error.
void add_check_command(CLI::App& app);
void add_create_command(CLI::App& app);
/// Returns the subcommand, to which a test adds options of its interposer. `make` is called once
/// the arguments are parsed.
CLI::App& add_join_command(CLI::App& app, platform::StopSignals& signals, MakeInterposer make = {});
void add_seed_command(CLI::App& app, platform::StopSignals& signals);
void add_ticket_command(CLI::App& app);

}  // namespace dedloc::tool
