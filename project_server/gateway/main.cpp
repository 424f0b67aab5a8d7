// dedloc-gateway: issues tickets to the peers of a project's volunteers.
#include <thread>

#include "peer/base/log.hpp"
#include "peer/platform/stop_signals.hpp"
#include "project_server/daemon.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/gateway/gateway_server.hpp"
#include "project_server/handover.hpp"
#include "project_server/settings.hpp"

namespace dedloc::gateway {
namespace {

TicketLimits limits_of(const server::Settings& settings) {
    TicketLimits limits{.seats = {.of_account = settings.seats_per_account,
                                  .of_network = settings.seats_per_network}};
    DeviceRates& rates = limits.rates;
    rates.flops_per_gpu = settings.flops_per_gpu.value_or(rates.flops_per_gpu);
    rates.flops_per_core = settings.flops_per_core.value_or(rates.flops_per_core);
    return limits;
}

void serve(const std::string& project, const server::ListenAddress& address) {
    const platform::StopSignals signals;
    platform::ignore_broken_pipes();
    server::Handover turn{project, "dedloc-gateway", signals};
    if (!turn.has_begun()) return;
    const auto config = server::load_project_config(project);
    {
        // Fail at once, with one sentence, if the database cannot be reached.
        const server::Database probe{config.database};
    }
    const auto settings = server::read_settings(project);
    GatewayServer server{
        config,
        server::state_folder(config.directory),
        {.host = address.host, .port = address.port, .proxy = settings.gateway_proxy},
        limits_of(settings)};
    std::thread serving{[&] { server.run(); }};
    log_info("gateway of {} on {}:{}", config.master_url, address.host, server.port());
    const int signal = signals.wait();
    turn.give_way();
    log_info("signal {}: stopping", signal);
    server.stop();
    serving.join();
}

}  // namespace
}  // namespace dedloc::gateway

int main(int count, char** arguments) {
    return dedloc::server::run_http_daemon(
        count, arguments, "dedloc-gateway",
        "Issues tickets to the peers of a DeDLOC@home project's volunteers.",
        [](const dedloc::server::Settings& settings) {
            return dedloc::server::ListenAddress{.host = settings.gateway_listen,
                                                 .port = settings.gateway_port};
        },
        dedloc::gateway::serve);
}
