// dedloc-gateway: gives tickets to the peers of a project's volunteers.
#include <fmt/format.h>
#include <sodium.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <thread>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "project_server/daemon.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/gateway/gateway_server.hpp"
#include "project_server/key_file.hpp"

namespace dedloc::gateway {
namespace {

void serve(const std::string& project, const server::ListenAddress& address) {
    const sigset_t signals = server::block_stop_signals();
    const auto config = server::load_project_config(project);
    const KeyPair key = server::read_key(config.directory / "keys/project.key");
    {
        // Fail now, with one sentence, if the database is not there.
        const server::Database probe{config.database};
    }
    GatewayServer server{config, key, address.host, address.port};
    std::thread serving{[&] { server.run(); }};
    log_info("gateway of {} on {}:{}", config.master_url, address.host, server.port());
    int signal = 0;
    sigwait(&signals, &signal);
    log_info("signal {}: stopping", signal);
    server.stop();
    serving.join();
}

}  // namespace
}  // namespace dedloc::gateway

int main(int count, char** arguments) {
    CLI::App app{"Gives tickets to the peers of a DeDLOC@home project's volunteers."};
    std::string project;
    std::string listen;
    app.add_option("--project", project, "folder made by `dedloc project create`")->required();
    app.add_option("--listen", listen, "HOST:PORT, behind nginx")->required();
    try {
        app.parse(count, arguments);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    dedloc::start_log("dedloc-gateway");
    try {
        const auto address = dedloc::server::parse_listen_address(listen);
        if (sodium_init() < 0) throw dedloc::Error("libsodium cannot start.");
        dedloc::gateway::serve(project, address);
        return 0;
    } catch (const dedloc::InputError& error) {
        std::cerr << "dedloc-gateway: " << error.what() << '\n';
        return 2;
    } catch (const std::exception& error) {
        std::cerr << "dedloc-gateway: " << error.what() << '\n';
        return 1;
    }
}
