// What the main functions of the project's daemons have in common.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <string>

namespace dedloc::server {

/// Where a daemon listens.
struct ListenAddress {
    std::string host;
    std::uint16_t port = 0;
};

/// "HOST:PORT". Errors: InputError, one sentence.
ListenAddress parse_listen_address(const std::string& text);

/// Blocks SIGTERM, SIGINT and SIGHUP in every thread made from now on, for the main thread to wait
/// for; ignores SIGPIPE.
sigset_t block_stop_signals();

/// main() of a daemon that serves a project over HTTP: `name` --project FOLDER --listen HOST:PORT.
/// `serve` returns when it is time to stop. Exit status: 0, 2 (arguments and files that do not
/// fit), 1 (anything else), each failure with one sentence.
int run_http_daemon(
    int count, char** arguments, const std::string& name, const std::string& purpose,
    const std::function<void(const std::string& project, const ListenAddress& address)>& serve);

}  // namespace dedloc::server
