// dedloc-backbone: an always-on member of one run's swarm that the project has appointed to vote.
#include <signal.h>

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/base/version.hpp"
#include "peer/net/endpoint_text.hpp"
#include "peer/platform/descriptors.hpp"
#include "peer/platform/stop_signals.hpp"
#include "project_server/backbone/backbone.hpp"
#include "project_server/daemon.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/settings.hpp"

namespace {

using namespace dedloc;

struct Arguments {
    std::filesystem::path project;
    std::string run;
    std::filesystem::path folder;
    std::filesystem::path voter;
    std::string listen;
    std::string dht;
    bool no_database = false;
    std::uint64_t checkpoint_every = 1;
    std::size_t keep_checkpoints = 3;
    std::optional<std::size_t> max_links;
    std::size_t threads = 0;
};

/// The first reported failure of the backbone, as a sentence.
class FirstFailure {
  public:
    void set(const std::string& sentence) {
        const std::lock_guard lock{mutex_};
        if (sentence_.empty()) sentence_ = sentence;
    }
    std::string get() {
        const std::lock_guard lock{mutex_};
        return sentence_;
    }

  private:
    std::mutex mutex_;
    std::string sentence_;
};

Endpoint endpoint_of(const std::string& text, const char* option) {
    const auto endpoint = net::parse_endpoint(text);
    if (!endpoint) throw InputError(std::string{option} + " wants HOST:PORT, not " + text + ".");
    return *endpoint;
}

backbone::RunFolder open_folder(const Arguments& arguments) {
    if (arguments.folder.empty()) {
        return backbone::read_run_folder(arguments.project, arguments.run);
    }
    const bool has_appointment = !arguments.voter.empty();
    return backbone::open_voter_folder(
        arguments.folder, has_appointment ? std::optional{arguments.voter} : std::nullopt);
}

/// Listen addresses of the run's own backbone, and the host that members dial.
struct Addresses {
    Endpoint listen;          ///< TCP
    Endpoint dht;             ///< UDP
    std::string public_host;  ///< numeric
};

/// From the DHT seed in the run file and the project's settings, if there are any: an official
/// BOINC server's project has none, and then the addresses are arguments.
Addresses own_addresses(const Arguments& arguments, const backbone::RunFolder& run) {
    if (run.run.dht_seeds.empty()) throw InputError("run.json names no DHT seed.");
    const Endpoint& seed = run.run.dht_seeds.front();
    Addresses addresses;
    // Members learn the TCP port from the DHT. It cannot be the number of the seed's UDP port:
    // libtorrent binds that one for TCP, too.
    if (arguments.project.empty() || !server::has_settings(arguments.project)) {
        addresses.public_host = net::resolve_endpoint(seed.text()).host;
        addresses.listen = {addresses.public_host, 0};
        addresses.dht = {addresses.public_host, seed.port};
        return addresses;
    }
    const auto settings = server::read_settings(arguments.project);
    addresses.public_host = settings.peer_address.empty() ? net::resolve_endpoint(seed.text()).host
                                                          : settings.peer_address;
    const bool is_fixed = settings.peer_port != 0;
    addresses.listen = {settings.peer_listen,
                        static_cast<std::uint16_t>(is_fixed ? seed.port + 1 : 0)};
    addresses.dht = {settings.peer_listen, seed.port};
    if (net::is_loopback_host(addresses.public_host) != settings.is_loopback()) {
        throw InputError(fmt::format(
            "members would dial {} at {}: name the address that volunteers reach as peer_address "
            "in dedloc.json.",
            seed.host, addresses.public_host));
    }
    return addresses;
}

static_assert(server::kMaxLinks == net::kMaxLinks &&
                  server::kDefaultLinks == net::kDefaultVoterLinks,
              "a project sets what a backbone's transport can have");

/// The option, else the project's setting, else the default.
std::size_t max_links(const Arguments& arguments) {
    if (arguments.max_links) return *arguments.max_links;
    const bool has_project = !arguments.project.empty() && server::has_settings(arguments.project);
    return has_project ? server::read_settings(arguments.project).max_links : server::kDefaultLinks;
}

/// Calls maintain() and poll() until a stop signal or a failure.
void run_until_stopped(backbone::Backbone& member, const platform::StopSignals& signals,
                       FirstFailure& failure) {
    constexpr std::chrono::minutes kTendEvery{5};
    constexpr std::chrono::seconds kLookEvery{2};
    constexpr std::chrono::milliseconds kTick{200};
    auto next_tend = std::chrono::steady_clock::now() + kTendEvery;
    auto next_look = std::chrono::steady_clock::now();
    while (!signals.wait(kTick) && failure.get().empty()) {
        const auto now = std::chrono::steady_clock::now();
        if (now >= next_tend) {
            member.maintain();
            next_tend = now + kTendEvery;
        }
        if (now < next_look) continue;
        next_look = now + kLookEvery;
        member.poll();
    }
}

void serve(const Arguments& arguments) {
    const platform::StopSignals signals;
    platform::ignore_broken_pipes();
    FirstFailure failure;
    auto run = open_folder(arguments);
    Endpoint listen{"0.0.0.0", 0};
    std::optional<Endpoint> seed;
    std::string public_host;
    if (run.is_own_backbone()) {
        const Addresses own = own_addresses(arguments, run);
        listen = own.listen;
        seed = own.dht;
        public_host = own.public_host;
    }
    if (!arguments.dht.empty()) seed = endpoint_of(arguments.dht, "--dht");
    backbone::BackboneOptions options{
        .listen = arguments.listen.empty() ? listen : endpoint_of(arguments.listen, "--listen"),
        .dht_listen = seed,
        .public_host = public_host,
        .database = {},
        .checkpoint_every = arguments.checkpoint_every,
        .keep_checkpoints = arguments.keep_checkpoints,
        .max_links = max_links(arguments),
        .threads = arguments.threads,
        .on_failure = [&failure](const std::string& sentence) { failure.set(sentence); }};
    if (!arguments.no_database && arguments.folder.empty()) {
        options.database = server::load_project_config(arguments.project).database;
    }
    backbone::Backbone member{std::move(run), std::move(options)};
    run_until_stopped(member, signals, failure);
    member.stop();
    if (!failure.get().empty()) throw Error(failure.get());
    log_info("stopped");
}

}  // namespace

int main(int argc, char** argv) {
    constexpr int kWrongArguments = 2;
    Arguments arguments;
    CLI::App app{
        "A voter of one run's swarm: coordinator, ledger, checkpoints. With --project it is the "
        "run's own backbone, with --folder a voter that the project has appointed on another "
        "machine."};
    app.set_version_flag("--version", "dedloc-backbone " + dedloc::version());
    auto* const project = app.add_option("--project", arguments.project, "Folder of the project");
    auto* const run = app.add_option("--run", arguments.run, "Name of the run")->needs(project);
    project->needs(run);
    auto* const folder =
        app.add_option("--folder", arguments.folder, "Folder of a voter on another machine")
            ->excludes(project);
    app.add_option("--voter", arguments.voter,
                   "File from dedloc run appoint; the first start moves it into --folder")
        ->needs(folder);
    app.add_option("--listen", arguments.listen,
                   "HOST:PORT where members dial (TCP); default: any port, with --project at the "
                   "DHT seed's host");
    app.add_option("--dht", arguments.dht,
                   "HOST:PORT of the DHT seed (UDP); default: as in run.json, with --folder no "
                   "seed");
    app.add_flag("--no-database", arguments.no_database, "Do not write to the database");
    app.add_option("--checkpoint-every", arguments.checkpoint_every, "Steps between checkpoints")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--keep-checkpoints", arguments.keep_checkpoints,
                   "Number of checkpoints to keep on disk")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--max-links", arguments.max_links,
                   "Peers that may be linked at once; each needs two open files of this process. "
                   "Default: max_links in dedloc.json, with --folder 10000")
        ->check(CLI::Range(std::size_t{1}, net::kMaxLinks));
    app.add_option("--threads", arguments.threads,
                   "Threads for updates and digests; 0: one for each processor")
        ->check(CLI::Range(0, 1024))
        ->capture_default_str();
    try {
        app.parse(argc, argv);
        if (arguments.folder.empty() && arguments.project.empty()) {
            throw CLI::RequiredError("--project with --run, or --folder");
        }
    } catch (const CLI::Success& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        std::fprintf(stderr, "dedloc-backbone: %s (see dedloc-backbone --help)\n", error.what());
        return kWrongArguments;
    }
    start_log("dedloc-backbone");
    platform::raise_descriptor_limit();
    try {
        serve(arguments);
    } catch (const InputError& error) {
        log_error("{}", error.what());
        return kWrongArguments;
    } catch (const std::exception& error) {
        log_error("{}", error.what());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
