// dedloc-plan: shows how a fleet would average a vector, how long that takes, and what would help.
// The report is computed first, then printed as text or JSON.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

#include "peer/base/version.hpp"
#include "peer/plan_tool/fleet_file.hpp"
#include "peer/plan_tool/report.hpp"

namespace {

constexpr int kFailure = 1;
constexpr int kWrongArguments = 2;

constexpr const char* kFooter =
    "FLEET.json is an object with these fields:\n"
    "  peers          a list of {name, upload_mbit, download_mbit (0: not known),\n"
    "                 contributes (default true), receives (default: as contributes),\n"
    "                 outbound_only (default false), samples_per_second (default 0),\n"
    "                 micro_batch_seconds (default 0: short)}\n"
    "  elements       length of the vector; or bytes: size of an encoded contribution\n"
    "  codec          fp32, fp16, bf16 or int8; average_codec, if averages use another\n"
    "  target_batch   samples of a step (optional): shows which peers should compute, and a "
    "better\n                 target batch\n"
    "  overlap        true if trainers compute while a round is on its way (default false)\n"
    "  latency_ms     latency of a message (default 0)\n"
    "Exit status: 1 if the file cannot be used, 2 for wrong arguments.\n";

struct Arguments {
    std::filesystem::path fleet;
    bool is_simulated = false;
    bool is_json = false;
};

}  // namespace

int main(int argc, char** argv) {
    Arguments arguments;
    CLI::App app{
        "Shows how a fleet would average a vector, how long that takes and what would help."};
    app.name("dedloc-plan");
    app.footer(kFooter);
    app.set_version_flag("--version", "dedloc-plan " + dedloc::version());
    app.add_option("FLEET.json", arguments.fleet, "The peers and the vector")->required();
    app.add_flag("--simulate", arguments.is_simulated,
                 "Also simulate a round; takes seconds to minutes");
    app.add_flag("--json", arguments.is_json, "Print JSON");
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        const std::string message = error.what();
        std::fprintf(stderr, "dedloc-plan: %s (see dedloc-plan --help)\n",
                     message.substr(0, message.find('\n')).c_str());
        return kWrongArguments;
    }
    try {
        const dedloc::plan::Fleet fleet = dedloc::plan::read_fleet(arguments.fleet);
        dedloc::plan::Report report = dedloc::plan::report_on(fleet);
        if (arguments.is_simulated) report.simulated = dedloc::plan::simulated_on(fleet);
        const std::string text = arguments.is_json ? dedloc::plan::json_of(fleet, report)
                                                   : dedloc::plan::text_of(fleet, report);
        std::fputs(text.c_str(), stdout);
        return std::fflush(stdout) == 0 ? 0 : kFailure;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "dedloc-plan: %s\n", error.what());
        return kFailure;
    }
}
