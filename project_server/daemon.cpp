// run_program() is the one place that turns exceptions into exit statuses. run_passes() waits for
// its turn after a predecessor, then connects and does passes until a signal ends the pause between
// two. A failed pass drops the connection, so that the next one connects again; the first failure
// in a row is logged, the others are silent. Wrong project files end the daemon when it connects,
// and with --once every failure does.
#include "project_server/daemon.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <optional>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/base/version.hpp"
#include "peer/platform/descriptors.hpp"
#include "peer/platform/stop_signals.hpp"
#include "project_server/handover.hpp"

namespace dedloc::server {

int run_program(CLI::App& app, int count, char** arguments, const std::string& name,
                const std::function<void()>& serve) {
    app.set_version_flag("--version", name + " " + version());
    try {
        app.parse(count, arguments);
    } catch (const CLI::Success& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        std::cerr << name << ": " << error.what() << " (see " << name << " --help)\n";
        return 2;
    }
    start_log(name);
    try {
        serve();
        return 0;
    } catch (const InputError& error) {
        std::cerr << name << ": " << error.what() << '\n';
        return 2;
    } catch (const std::exception& error) {
        std::cerr << name << ": " << error.what() << '\n';
        return 1;
    }
}

void run_passes(const LoopDaemon& daemon, const LoopOptions& options) {
    const platform::StopSignals signals;
    platform::ignore_broken_pipes();
    // One pass by hand may be done beside the daemon.
    std::optional<Handover> turn;
    if (!options.is_once) turn.emplace(options.project, daemon.name, signals);
    if (turn && !turn->has_begun()) return;
    const auto pause = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>{options.interval_seconds});
    LoopDaemon::Look look;
    bool is_down = false;
    do {
        try {
            if (!look) look = daemon.connect(options.project, signals);
            look();
            is_down = false;
        } catch (const Error& error) {
            const bool is_project_wrong =
                !look && dynamic_cast<const InputError*>(&error) != nullptr;
            if (options.is_once || is_project_wrong) throw;
            if (!is_down) log_warning("{} Trying again.", error.what());
            is_down = true;
            look = nullptr;
        }
    } while (!options.is_once && !signals.wait(pause));
    if (turn) turn->give_way();
    if (!options.is_once) log_info("Stopped");
}

int run_http_daemon(
    int count, char** arguments, const std::string& name, const std::string& purpose,
    const std::function<ListenAddress(const Settings&)>& usual,
    const std::function<void(const std::string& project, const ListenAddress& address)>& serve) {
    CLI::App app{purpose};
    std::string project;
    std::string listen;
    app.add_option("--project", project, "The project's folder")->required();
    app.add_option(
        "--listen", listen,
        "HOST:PORT to listen on, behind nginx or Apache. Default: as the project's settings say");
    return run_program(app, count, arguments, name, [&] {
        const ListenAddress address = listen.empty()
                                          ? usual(read_settings(project))
                                          : platform::parse_listen_address(listen, "--listen");
        platform::raise_descriptor_limit();
        if (sodium_init() < 0) throw Error("libsodium cannot start.");
        serve(project, address);
    });
}

CLI::Option* add_loop_options(CLI::App& app, const LoopDaemon& daemon, LoopOptions& options) {
    options.interval_seconds = daemon.interval_seconds;
    auto* const project = app.add_option("--project", options.project, "Folder of the project");
    app.add_option("--interval", options.interval_seconds, "Seconds between two passes")
        ->check(CLI::Range(0.05, 3600.0))
        ->capture_default_str();
    daemon.add_options(app);
    app.add_flag("--once", options.is_once, daemon.once);
    return project;
}

int run_loop_daemon(int count, char** arguments, const LoopDaemon& daemon) {
    CLI::App app{daemon.purpose};
    LoopOptions options;
    add_loop_options(app, daemon, options)->required();
    return run_program(app, count, arguments, daemon.name, [&] { run_passes(daemon, options); });
}

}  // namespace dedloc::server
