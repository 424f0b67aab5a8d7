// add_member_options() only describes the options to CLI11. stay_options() checks their
// combinations, converts Mbit/s to bytes per second, and chooses the listening host: loopback if
// all DHT seeds are on loopback, else every interface.
#include "peer/tool/member_arguments.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "peer/base/error.hpp"
#include "peer/net/endpoint_text.hpp"
#include "peer/platform/key_file.hpp"
#include "peer/tool/files.hpp"

namespace dedloc::tool {
namespace {

constexpr double kBytesPerMegabit = 125'000;
constexpr double kMaxMegabits = 1e9;
constexpr std::size_t kMaxThreads = 1'024;

/// The host to listen on if none is given.
std::string usual_host(const StayOptions& options, const formats::RunFile& run) {
    std::vector<std::string> hosts;
    for (const Endpoint& seed : run.dht_seeds) hosts.push_back(seed.host);
    if (!options.seeds.empty()) hosts.clear();
    for (const std::string& seed : options.seeds) {
        const auto parts = net::split_host_and_port(seed);
        hosts.push_back(parts ? parts->host : std::string{});
    }
    const bool is_local = std::all_of(hosts.begin(), hosts.end(), net::is_loopback_host);
    return is_local ? "127.0.0.1" : "::";
}

/// Parses [HOST:]PORT; `usual` is the host if there is none. Errors: InputError.
Endpoint listening_endpoint(const std::string& text, const std::string& usual) {
    std::uint16_t port = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, port);
    if (error == std::errc{} && rest == end) return {usual, port};
    const auto endpoint = net::parse_endpoint(text);
    if (!endpoint) {
        throw InputError("--listen wants PORT or a numeric HOST:PORT, not '" + text + "'");
    }
    return *endpoint;
}

std::optional<Bandwidth> bandwidth_of(double megabits) {
    return known_bandwidth(static_cast<std::uint64_t>(megabits * kBytesPerMegabit));
}

}  // namespace

void add_member_options(CLI::App& command, MemberArguments& arguments) {
    const CLI::Range rate{0.0, kMaxMegabits};
    command.add_option("--key", arguments.key,
                       "Key file, created if it does not exist; default: a temporary key");
    command
        .add_option("--samples-per-second", arguments.samples_per_second,
                    "Speed of the synthetic gradient; 0: hold a state and compute nothing")
        ->check(rate)
        ->capture_default_str();
    command.add_option("--upload-mbit", arguments.upload_mbit, "Initial estimate; 0: not known")
        ->check(rate);
    command
        .add_option("--download-mbit", arguments.download_mbit, "Initial estimate; 0: not known")
        ->check(rate);
    command.add_flag("--declared", arguments.is_declared,
                     "The two bandwidths are exact: do not measure them");
    command
        .add_option("--max-links", arguments.max_links,
                    "Most links; default: 1,024, a backbone 10,000. Each needs two open files")
        ->check(CLI::Range(std::size_t{1}, net::kMaxLinks));
    command
        .add_option("--congestion", arguments.congestion,
                    "TCP's congestion control, if the system has it and permits it")
        ->capture_default_str();
    command
        .add_option("--connections", arguments.connections,
                    "TCP connections of a link that loss limits; 1: never more than one")
        ->check(CLI::Range(std::size_t{1}, net::kMaxFlows))
        ->capture_default_str();
    command
        .add_option("--threads", arguments.threads,
                    "Threads for digests and updates; 0: as many as this computer can run at once")
        ->check(CLI::Range(std::size_t{0}, kMaxThreads))
        ->capture_default_str();
    command.add_flag("--check", arguments.checks,
                     "Verify every average: compute it again from its contributors' keys");
    command.add_flag("--quiet", arguments.is_quiet, "Print no line for each step");
    command.add_option("--ticket", arguments.ticket,
                       "File of this key's ticket: links then prove both ends' tickets and are"
                       " encrypted as the run file says; default: they prove nothing");
    command.add_option(
        "--memory", arguments.memory,
        "Folder where a backbone keeps its votes and its state; without it, it must not restart");
}

StayOptions stay_options(const MemberArguments& arguments, Role role, const formats::RunFile& run) {
    if (role == Role::kBackbone && arguments.key.empty()) {
        throw InputError("a backbone needs --key, the one that the run file names");
    }
    if (role == Role::kBackbone && !std::filesystem::exists(arguments.key)) {
        throw InputError("there is no key file " + arguments.key.string());
    }
    if (role != Role::kBackbone && !arguments.memory.empty()) {
        throw InputError("--memory is for a backbone only");
    }
    const std::size_t links =
        role == Role::kBackbone ? net::kDefaultVoterLinks : net::kDefaultLinks;
    StayOptions options{.role = role,
                        .key = arguments.key.empty() ? KeyPair::generate()
                                                     : platform::read_or_create_key(arguments.key),
                        .seeds = arguments.seeds,
                        .listen = {},
                        .maps_port = arguments.maps_port,
                        .max_links = arguments.max_links != 0 ? arguments.max_links : links,
                        .congestion = arguments.congestion,
                        .connections = arguments.connections,
                        .threads = arguments.threads,
                        .samples_per_second = arguments.samples_per_second,
                        .upload = bandwidth_of(arguments.upload_mbit),
                        .download = bandwidth_of(arguments.download_mbit),
                        .measures_bandwidth = !arguments.is_declared,
                        .checks = arguments.checks,
                        .memory = arguments.memory,
                        .is_quiet = arguments.is_quiet,
                        .ticket = {},
                        .misbehaviour = hostile::misbehaviour_named(arguments.misbehaviour),
                        .intensity = arguments.intensity};
    if (!arguments.ticket.empty()) options.ticket = read_ticket(arguments.ticket);
    if (arguments.is_outbound_only) return options;
    const std::string usual = usual_host(options, run);
    options.listen = listening_endpoint(arguments.listen.empty() ? "0" : arguments.listen, usual);
    return options;
}

}  // namespace dedloc::tool
