#include "project_server/daemon.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"

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

int run_http_daemon(
    int count, char** arguments, const std::string& name, const std::string& purpose,
    const std::function<void(const std::string& project, const ListenAddress& address)>& serve) {
    CLI::App app{purpose};
    std::string project;
    std::string listen;
    app.add_option("--project", project, "folder made by `dedloc project create`")->required();
    app.add_option("--listen", listen, "HOST:PORT, behind nginx")->required();
    try {
        app.parse(count, arguments);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    start_log(name);
    try {
        const ListenAddress address = parse_listen_address(listen);
        if (sodium_init() < 0) throw Error("libsodium cannot start.");
        serve(project, address);
        return 0;
    } catch (const InputError& error) {
        std::cerr << name << ": " << error.what() << '\n';
        return 2;
    } catch (const std::exception& error) {
        std::cerr << name << ": " << error.what() << '\n';
        return 1;
    }
}

}  // namespace dedloc::server
