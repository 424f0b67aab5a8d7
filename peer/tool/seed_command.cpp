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

constexpr std::chrono::milliseconds kPoll{100};

struct Arguments {
    MemberArguments member;
    std::string address;
    std::filesystem::path nodes;
    std::uint64_t save_every = 60;
};

/// Writes the known nodes every so often.
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

void seed(Arguments& arguments, platform::StopSignals& signals) {
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
        return signals.wait(kPoll);
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
    const auto arguments = std::make_shared<Arguments>();
    CLI::App* command = app.add_subcommand(
        "seed", "Be the seed of a DHT, and with --run the backbone of that run beside it");
    command->add_option("HOST:PORT", arguments->address, "Where it answers (UDP); port 0: any")
        ->required();
    command->add_option("--nodes", arguments->nodes,
                        "File that keeps the known nodes, so that a restart forgets nobody");
    command->add_option("--save-every", arguments->save_every, "Seconds between two savings")
        ->check(CLI::Range(1, 86'400))
        ->capture_default_str();
    auto* run = command->add_option("--run", arguments->member.run, "Run to be the backbone of");
    command
        ->add_option("--listen", arguments->member.listen,
                     "[HOST:]PORT where members dial (TCP; default: any port)")
        ->needs(run);
    add_member_options(*command, arguments->member);
    command->callback([arguments, &signals] { seed(*arguments, signals); });
}

}  // namespace dedloc::tool
