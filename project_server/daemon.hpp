// What the main functions of the project's daemons have in common.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace dedloc::server {

/// Where a daemon listens.
struct ListenAddress {
    std::string host;
    std::uint16_t port = 0;
};

/// "HOST:PORT". Errors: InputError, one sentence.
ListenAddress parse_listen_address(const std::string& text);

/// main() of a daemon that serves a project over HTTP: `name` --project FOLDER --listen HOST:PORT.
/// `serve` returns when it is time to stop. Exit status: 0, 2 (arguments and files that do not
/// fit), 1 (anything else), each failure with one sentence.
int run_http_daemon(
    int count, char** arguments, const std::string& name, const std::string& purpose,
    const std::function<void(const std::string& project, const ListenAddress& address)>& serve);

/// What a daemon does that looks every few seconds whether there is something to do.
struct LoopDaemon {
    std::string name;
    std::string purpose;
    std::string once;  ///< help of --once
    std::function<void(CLI::App& app)> add_options = [](CLI::App&) {};
    /// One look, with the connections that it needs: made anew after one that failed.
    using Look = std::function<void()>;
    std::function<Look(const std::filesystem::path& project)> connect;
};

/// main() of such a daemon: `name` --project FOLDER [--interval SECONDS] [--once]. What fails is
/// said once and tried again until it succeeds; but a project whose files are wrong (InputError
/// from connect), and with --once any failure, ends it. Exit status as above.
int run_loop_daemon(int count, char** arguments, const LoopDaemon& daemon);

}  // namespace dedloc::server
