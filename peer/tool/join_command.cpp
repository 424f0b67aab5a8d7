// Declares the options that only `join` has, checks what excludes what, and runs one Stay until the
// run is over or a signal comes.
#include <memory>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/platform/stop_signals.hpp"
#include "peer/tool/commands.hpp"
#include "peer/tool/files.hpp"
#include "peer/tool/member_arguments.hpp"

namespace dedloc::tool {
namespace {

constexpr std::chrono::milliseconds kPoll{100};

struct JoinArguments {
    MemberArguments member;
    bool is_backbone = false;
    bool is_aggregator = false;
};

Role role_of(const JoinArguments& arguments) {
    if (arguments.is_backbone) return Role::kBackbone;
    return arguments.is_aggregator ? Role::kAggregator : Role::kTrainer;
}

void join(const JoinArguments& arguments, platform::StopSignals& signals,
          const MakeInterposer& make) {
    if (arguments.is_aggregator && arguments.member.samples_per_second > 0) {
        throw InputError("an aggregator computes nothing: no --samples-per-second");
    }
    const formats::RunFile run = read_run(arguments.member.run);
    if (arguments.is_backbone && run.initial_state) {
        throw InputError(
            "the run starts from a given state, which only dedloc-backbone reads: no --backbone");
    }
    const StayOptions options = stay_options(arguments.member, role_of(arguments), run);
    Stay stay(run, options, make ? make(run, options) : nullptr);
    stay.wait_until_over([&signals] { return signals.wait(kPoll); });
}

}  // namespace

CLI::App& add_join_command(CLI::App& app, platform::StopSignals& signals, MakeInterposer make) {
    const auto arguments = std::make_shared<JoinArguments>();
    MemberArguments& member = arguments->member;
    CLI::App* command =
        app.add_subcommand("join", "Join a run's swarm with a synthetic gradient until it is over");
    command->add_option("RUNFILE", member.run, "Run file")->required();
    command->add_option("--seed", member.seeds,
                        "HOST:PORT of a DHT seed, once for each (default: the run file's)");
    auto* listen = command->add_option("--listen", member.listen,
                                       "[HOST:]PORT that peers dial (default: any port)");
    auto* maps = command->add_flag("--map-port", member.maps_port,
                                   "Ask the router (UPnP, NAT-PMP) to forward this port");
    command->add_flag("--outbound-only", member.is_outbound_only, "Do not listen")
        ->excludes(listen)
        ->excludes(maps);
    auto* backbone = command->add_flag("--backbone", arguments->is_backbone,
                                       "Be the run's backbone, which coordinates; needs --key");
    command->add_flag("--aggregator", arguments->is_aggregator, "Only reduce; hold no state")
        ->excludes(backbone);
    add_member_options(*command, member);
    command->callback(
        [arguments, &signals, make = std::move(make)] { join(*arguments, signals, make); });
    return *command;
}

}  // namespace dedloc::tool
