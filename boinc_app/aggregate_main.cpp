// dedloc_aggregate: the app for computers that have no memory or time to train. It takes a seat in
// a swarm and averages other members' gradients; it computes none, and holds no model. BOINC runs
// it beside other tasks (a non-CPU-intensive app). What it shares with dedloc_train is in
// seat/program.
#include <CLI/CLI.hpp>

#include "boinc_app/seat/averaging_worker.hpp"
#include "boinc_app/seat/program.hpp"

int main(int argc, char** argv) {
    using namespace dedloc;
    seat::Arguments arguments;
    CLI::App app{
        "Takes a seat in a DeDLOC@home swarm and averages the gradients of other members until the "
        "run is finished."};
    seat::add_options(app, arguments);
    const seat::Program program{
        .name = "dedloc_aggregate",
        .worker = [](const formats::RunFile& run, runtime::VolunteerRuntime&) {
            return seat::averaging_worker(run);
        }};
    if (const auto status = seat::parse_command_line(app, argc, argv, program)) return *status;
    return seat::take_seat(program, app, arguments);
}
