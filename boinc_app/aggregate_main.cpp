// dedloc_aggregate: the app for computers that have no memory or time to train. It takes a seat in
// a swarm and averages other members' gradients; it computes none, and holds no model. BOINC runs
// it beside other tasks (a non-CPU-intensive app). What it shares with dedloc_train is in
// seat/program.
#include <CLI/CLI.hpp>

#include "boinc_app/seat/averaging_worker.hpp"
#include "boinc_app/seat/program.hpp"

int main(int argc, char** argv) {
    using namespace dedloc;
    SeatArguments arguments;
    CLI::App app{
        "Takes a seat in a DeDLOC@home swarm and averages the gradients of other members until the "
        "run is finished."};
    add_seat_options(app, arguments);
    const SeatProgram program{.name = "dedloc_aggregate",
                              .worker = [](const formats::RunFile& run, VolunteerRuntime&) {
                                  return averaging_worker(run);
                              }};
    if (const auto status = parse_command_line(app, argc, argv, program)) return *status;
    return take_seat(program, app, arguments);
}
