#include "project_server/daemon.hpp"

#include <fmt/format.h>

#include <charconv>

#include "peer/base/error.hpp"

namespace dedloc::server {

ListenAddress parse_listen_address(const std::string& text) {
    const auto colon = text.rfind(':');
    ListenAddress address{.host = text.substr(0, colon)};
    const char* const end = text.data() + text.size();
    const char* const digits = colon == std::string::npos ? end : text.data() + colon + 1;
    const auto [stop, failure] = std::from_chars(digits, end, address.port);
    if (failure != std::errc{} || stop != end || address.host.empty()) {
        throw InputError(fmt::format("--listen wants HOST:PORT, not \"{}\".", text));
    }
    return address;
}

sigset_t block_stop_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    return signals;
}

}  // namespace dedloc::server
