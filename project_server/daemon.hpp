// The main functions of the project's daemons: arguments, log, signals, exit status.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "peer/platform/ports.hpp"
#include "project_server/settings.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dedloc::platform {
class StopSignals;
}

namespace dedloc::server {

using platform::ListenAddress;

/// main() of a daemon that serves a project over HTTP: `name` --project FOLDER
/// [--listen HOST:PORT]. The default is what `usual` takes from the project's settings.
/// `serve` returns after a stop signal. Exit status: as run_program().
int run_http_daemon(
    int count, char** arguments, const std::string& name, const std::string& purpose,
    const std::function<ListenAddress(const Settings&)>& usual,
    const std::function<void(const std::string& project, const ListenAddress& address)>& serve);

/// A daemon that does a pass over the database every few seconds.
struct LoopDaemon {
    std::string name;             ///< program name, for the log and errors
    std::string purpose;          ///< description in --help
    std::string once;             ///< help of --once
    double interval_seconds = 2;  ///< default of --interval
    /// Adds options of this daemon to the parser.
    std::function<void(CLI::App& app)> add_options = [](CLI::App&) {};
    /// One pass; owns the connections that it needs.
    using Look = std::function<void()>;
    /// Connects and returns the pass. Called at the start and again after a pass that failed. A
    /// pass that takes long polls the signals, which outlive it, and returns when one has arrived.
    std::function<Look(const std::filesystem::path& project, const platform::StopSignals& signals)>
        connect;
};

/// What the command line of such a daemon says.
struct LoopOptions {
    std::filesystem::path project;  ///< folder of the project
    double interval_seconds = 0;    ///< between two passes
    bool is_once = false;           ///< ends after one pass
};

/// Adds --project, --interval and --once, and the daemon's own options. Returns --project.
CLI::Option* add_loop_options(CLI::App& app, const LoopDaemon& daemon, LoopOptions& options);

/// Does passes until a stop signal. Errors: as those of run_loop_daemon() that end it.
void run_passes(const LoopDaemon& daemon, const LoopOptions& options);

/// main() of a program: parses the arguments, which include --version, starts the log and calls
/// `serve`. Exit status: 0, 2 (wrong arguments or files), 1 (any other failure); a failure prints
/// one sentence.
int run_program(CLI::App& app, int count, char** arguments, const std::string& name,
                const std::function<void()>& serve);

/// main() of such a daemon: `name` --project FOLDER [--interval SECONDS] [--once]. A failure is
/// logged once and retried at each interval until a pass succeeds. An InputError from connect
/// (wrong project files), and with --once any failure, ends the daemon. Exit status: as
/// run_program().
int run_loop_daemon(int count, char** arguments, const LoopDaemon& daemon);

}  // namespace dedloc::server
