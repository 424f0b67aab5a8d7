// dedloc-peer: a headless member of a swarm with a synthetic gradient, for tests, measurements and
// troubleshooting.
#include "peer/tool/commands.hpp"
#include "peer/tool/program.hpp"

namespace {

void add_commands(CLI::App& app, dedloc::platform::StopSignals& signals) {
    dedloc::tool::add_check_command(app);
    dedloc::tool::add_create_command(app);
    dedloc::tool::add_seed_command(app, signals);
    dedloc::tool::add_join_command(app, signals);
    dedloc::tool::add_ticket_command(app);
}

}  // namespace

int main(int count, char** words) {
    return dedloc::tool::run_program(
        {.name = "dedloc-peer",
         .purpose =
             "Join a DeDLOC@home swarm with a synthetic gradient, for tests and measurements.",
         .add_commands = add_commands},
        count, words);
}
