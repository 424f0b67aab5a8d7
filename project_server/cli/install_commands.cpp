// dedloc install: DeDLOC@home in the project of an official BOINC server.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/platform/descriptors.hpp"
#include "project_server/check/public_address.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/output.hpp"
#include "project_server/official/apache.hpp"
#include "project_server/official/entries.hpp"
#include "project_server/official/install.hpp"
#include "project_server/official/remove.hpp"
#include "project_server/packaging/closure.hpp"
#include "project_server/settings.hpp"

namespace dedloc::cli {
namespace {

namespace fs = std::filesystem;

struct InstallChoice {
    official::InstallOptions options;
    bool is_removal = false;
    bool drops_data = false;
    bool prints_json = false;
};

/// What has been done, printed as it happens or, as JSON, at the end.
class Steps {
  public:
    explicit Steps(bool as_json) : as_json_(as_json) {}
    void operator()(const std::string& outcome, const std::string& what) {
        if (!as_json_) return fmt::print("{:<6} {}\n", outcome, what);
        json::Value step;
        steps_.push_back(std::move(step.set("outcome", outcome).set("what", what)));
    }
    void print_json(const InstallChoice& chosen, std::size_t count) {
        json::Value data;
        data.set("project", chosen.options.project.string())
            .set("is_dry", chosen.options.is_dry)
            .set("changes", count)
            .set("steps", std::move(steps_));
        print(data, true);
    }

  private:
    const bool as_json_;
    json::Value::List steps_;
};

/// The daemons use the system's libraries, which get security updates. They must not depend on
/// folders that may go, such as that of a build.
void require_system_libraries(const fs::path& programs) {
    for (const char* const program : official::kPrograms) {
        for (const auto& library : packaging::library_closure(programs / program)) {
            const std::string file = library.file.string();
            if (file.starts_with("/lib") || file.starts_with("/usr/")) continue;
            throw InputError(fmt::format("{} needs {}, which is not in the system's folders",
                                         (programs / program).string(), file));
        }
    }
}

/// What Apache's configuration lacks, unless the gateway answers at the project's URL.
void say_apache_line(const fs::path& folder) {
    const auto project = fs::canonical(folder);
    const auto found = check::ask_public_address(project, server::read_settings(project));
    if (found.answer == check::PublicAnswer::kGateway) return fmt::print("{}\n", found.sentence);
    fmt::print(
        "Apache needs this line in the <VirtualHost> of the project, and proxy_http; then reload "
        "it:\n    {}\n",
        official::apache_line(project));
}

void install(InstallChoice chosen) {
    auto& options = chosen.options;
    const std::string project = options.project.string();
    options.programs = fs::read_symlink("/proc/self/exe").parent_path();
    require_system_libraries(options.programs);
    Steps steps{chosen.prints_json};
    const auto count = official::install(options, std::ref(steps));
    if (chosen.prints_json) return steps.print_json(chosen, count);
    if (count == 0) {
        fmt::print("DeDLOC is in {} already; nothing was changed\n", project);
    } else if (options.is_dry) {
        fmt::print("{} things would be done\n", count);
    } else {
        fmt::print("DeDLOC is in {0}. To start it: {0}/bin/stop, then {0}/bin/start\n", project);
        say_apache_line(options.project);
    }
}

void remove(const InstallChoice& chosen) {
    Steps steps{chosen.prints_json};
    const auto count = official::remove({.project = chosen.options.project,
                                         .drops_data = chosen.drops_data,
                                         .is_dry = chosen.options.is_dry},
                                        std::ref(steps));
    if (chosen.prints_json) return steps.print_json(chosen, count);
    const char* const what = chosen.options.is_dry ? "would be done" : "were done";
    fmt::print("{} things {} to take DeDLOC out of {}\n", count, what,
               chosen.options.project.string());
    fmt::print("Take this line out of Apache's configuration and reload it:\n    {}\n",
               official::apache_line(fs::canonical(chosen.options.project)));
}

void add_seat_limits(CLI::App& command, official::InstallOptions& options, CLI::Option* removal) {
    command
        .add_option("--seats-per-account", options.seats_per_account,
                    fmt::format("Jobs of one account that take part at a time; 0: any number. "
                                "Default: {}",
                                server::kDefaultSeatsOfAccount))
        ->check(CLI::Range(std::uint64_t{0}, server::kMaxSeats))
        ->excludes(removal);
    command
        .add_option("--seats-per-network", options.seats_per_network,
                    fmt::format("The same for a network: an IPv4 /24 or an IPv6 /48. Default: {}",
                                server::kDefaultSeatsOfNetwork))
        ->check(CLI::Range(std::uint64_t{0}, server::kMaxSeats))
        ->excludes(removal);
}

}  // namespace

void add_install_commands(CLI::App& dedloc) {
    const auto chosen = std::make_shared<InstallChoice>();  // shared by parser and callback
    auto* const command = dedloc.add_subcommand(
        "install", "Put DeDLOC into the project of an official BOINC server, or take it out");
    command->add_option("--into", chosen->options.project, "The project's folder")->required();
    command->add_flag("--json", chosen->prints_json, "Print JSON");
    auto* const removal =
        command->add_flag("--remove", chosen->is_removal, "Take out what it has put there");
    command
        ->add_flag("--drop-data", chosen->drops_data,
                   "With --remove: also runs, tables with rows, jobs and app versions")
        ->needs(removal);
    command->add_flag("--dry-run", chosen->options.is_dry,
                      "Change nothing, say what would be done");
    command
        ->add_option("--gateway-port", chosen->options.gateway_port,
                     "Port of dedloc-gateway, where Apache forwards to. Default: a free one, then "
                     "fixed")
        ->check(CLI::Range(1, 65'535))
        ->excludes(removal);
    auto* const proxy =
        command
            ->add_option("--proxy", chosen->options.proxy,
                         "Address of the machine that Apache runs on, if it is not this one")
            ->check(CLI::ValidIPV4)
            ->excludes(removal);
    auto* const listen = command
                             ->add_option("--gateway-listen", chosen->options.gateway_listen,
                                          "With --proxy: address of this machine that Apache "
                                          "forwards to")
                             ->check(CLI::ValidIPV4)
                             ->needs(proxy);
    proxy->needs(listen);
    command
        ->add_option("--peer-listen", chosen->options.peer_listen,
                     "Address that the runs' backbones listen on. Default: all, if the project's "
                     "URL names another host than 127.0.0.1")
        ->check(CLI::ValidIPV4)
        ->excludes(removal);
    command
        ->add_option("--peer-address", chosen->options.peer_address,
                     "Address where members dial the backbones, if it is not that of the URL's "
                     "host")
        ->check(CLI::ValidIPV4)
        ->excludes(removal);
    command
        ->add_option("--peer-port", chosen->options.peer_port,
                     "Each run takes two ports from here on, one UDP and one TCP, to open in a "
                     "firewall. Default: any free ones")
        ->check(CLI::Range(0, 65'000))
        ->excludes(removal);
    command
        ->add_option("--max-links", chosen->options.max_links,
                     fmt::format("Peers that may be linked to a run's backbone at once; each needs "
                                 "two open files. Default: {}",
                                 server::kDefaultLinks))
        ->check(CLI::Range(std::size_t{1}, platform::kMaxLinks))
        ->excludes(removal);
    add_seat_limits(*command, chosen->options, removal);
    command->callback([chosen] { chosen->is_removal ? remove(*chosen) : install(*chosen); });
}

}  // namespace dedloc::cli
