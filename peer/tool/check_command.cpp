// Prints one line for each finding: "ok", "NO" (needed and failed) or "no" (failed, but a peer can
// take part). A "NO" makes the exit status 1.
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "peer/base/error.hpp"
#include "peer/tool/checkup.hpp"
#include "peer/tool/commands.hpp"

namespace dedloc::tool {
namespace {

void check(const CheckupOptions& options) {
    const std::vector<Finding> findings = check_up(options);
    for (const Finding& finding : findings) {
        const char* const verdict = finding.works ? "ok" : finding.is_needed ? "NO" : "no";
        fmt::print("{:<9} {:<3} {}\n", finding.what, verdict, finding.sentence);
    }
    std::fflush(stdout);
    const auto is_in_the_way = [](const Finding& finding) {
        return finding.is_needed && !finding.works;
    };
    const auto count = std::ranges::count_if(findings, is_in_the_way);
    if (count > 0) throw Error("a peer on this machine cannot take part: see the lines with NO");
}

}  // namespace

void add_check_command(CLI::App& app) {
    const auto options = std::make_shared<CheckupOptions>();
    CLI::App* command = app.add_subcommand(
        "check",
        "Check from this machine what a peer needs, and say what to do about problems: gateway, "
        "clock, DHT, port, and bandwidth, for which a few megabytes are transferred");
    command->add_option("URL", options->url, "URL of the project, as volunteers attach to it")
        ->required();
    command->add_option("--port", options->port, "TCP port to listen on; 0: any")
        ->capture_default_str();
    command->add_option("--proxy", options->proxy,
                        "URL of an HTTP or SOCKS proxy; default: from the environment");
    command->add_option("--certificates", options->certificates,
                        "File with trusted certificates; default: the system's");
    command->callback([options] { check(*options); });
}

}  // namespace dedloc::tool
