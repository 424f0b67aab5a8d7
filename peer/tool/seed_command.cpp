// Runs a DHT seed, prints its address first, and saves its known nodes from the polling loop. With
// --run the same process is also the run's backbone, which uses this seed.
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "peer/base/error.hpp"
#include "peer/net/dht/dht_seed.hpp"
#include "peer/net/endpoint_text.hpp"
#include "peer/platform/stop_signals.hpp"
#include "peer/tool/commands.hpp"
#include "peer/tool/files.hpp"
#include "peer/tool/member_arguments.hpp"

namespace dedloc::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSeedPoll{100};

struct SeedArguments {
    MemberArguments member;
    std::string address;
    std::filesystem::path nodes;
    std::uint64_t save_every = 60;
};

/// Saves the known nodes at a fixed interval; look() must be called often.
class Keeper {
  public:
    Keeper(const net::DhtSeed& seed, std::chrono::seconds interval)
        : seed_(seed), interval_(interval), next_(Clock::now() + interval) {}
    void look() {
        if (Clock::now() < next_) return;
        seed_.save();
        next_ = Clock::now() + interval_;
    }

  private:
    const net::DhtSeed& seed_;
    const std::chrono::seconds interval_;
    Clock::time_point next_;
};

void seed(SeedArguments& arguments, platform::StopSignals& signals) {
    const auto endpoint = net::parse_endpoint(arguments.address);
    if (!endpoint) {
        throw InputError("the seed wants a numeric HOST:PORT, not '" + arguments.address + "'");
    }
    std::optional<formats::RunFile> run;
    if (!arguments.member.run.empty()) run = read_run(arguments.member.run);
    const net::DhtSeed node({.listen = *endpoint, .address = "", .state_file = arguments.nodes});
    const std::string address = Endpoint{endpoint->host, node.port()}.text();
    fmt::print("{{\"event\":\"seed\",\"address\":\"{}\"}}\n", address);
    std::fflush(stdout);
    Keeper keeper(node, std::chrono::seconds{arguments.save_every});
    const auto pause = [&] {
        keeper.look();
        return signals.wait(kSeedPoll);
    };
    if (run) {
        arguments.member.seeds = {address};
        Stay stay(*run, stay_options(arguments.member, Role::kBackbone, *run));
        stay.wait_until_over(pause);
    } else {
        while (!pause()) {
        }
    }
}

}  // namespace

void add_seed_command(CLI::App& app, platform::StopSignals& signals) {
    const auto arguments = std::make_shared<SeedArguments>();
    CLI::App* command = app.add_subcommand(
        "seed", "Be the seed of a DHT and, with --run, also the backbone of that run");
    command->add_option("HOST:PORT", arguments->address, "UDP address to listen on; port 0: any")
        ->required();
    command->add_option("--nodes", arguments->nodes,
                        "File that keeps the known nodes for the next start");
    command->add_option("--save-every", arguments->save_every, "Seconds between saves of this file")
        ->check(CLI::Range(1, 86'400))
        ->capture_default_str();
    auto* run = command->add_option("--run", arguments->member.run,
                                    "Run file: be the backbone of this run");
    command
        ->add_option("--listen", arguments->member.listen,
                     "[HOST:]PORT that members dial (TCP; default: any port)")
        ->needs(run);
    add_member_options(*command, arguments->member);
    command->callback([arguments, &signals] { seed(*arguments, signals); });
}

}  // namespace dedloc::tool
