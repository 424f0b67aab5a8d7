// What the main functions of the project's daemons have in common.
#pragma once

#include <csignal>
#include <cstdint>
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

}  // namespace dedloc::server
