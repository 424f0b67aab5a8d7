// hostile_peer: the `join` of dedloc-peer with an adversary between the peer and its network.
// --misbehave names how it breaks the protocol; without it, the member is honest.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/base/random.hpp"
#include "peer/config.hpp"
#include "peer/tool/commands.hpp"
#include "peer/tool/program.hpp"
#include "peer/tool/stay.hpp"
#include "tests/hostile/misbehaviour.hpp"
#include "tests/swarm/hostile_transport.hpp"

namespace {

using namespace dedloc;

constexpr int kMaxIntensity = 1'000;

struct HostileArguments {
    std::string misbehaviour;
    std::uint32_t intensity = 1;
};

std::vector<std::string> misbehaviours() {
    return {hostile::kMisbehaviourNames.begin(), hostile::kMisbehaviourNames.end()};
}

std::unique_ptr<tool::Interposer> make_adversary(const HostileArguments& arguments,
                                                 const formats::RunFile& run,
                                                 const tool::StayOptions& options) {
    const auto misbehaviour = hostile::misbehaviour_named(arguments.misbehaviour);
    if (!misbehaviour) return nullptr;
    if (options.role == Role::kBackbone) {
        throw InputError("a backbone is trusted: it cannot be told to misbehave");
    }
    const auto& ticket = options.ticket;
    const std::uint64_t figure = ticket ? ticket->ticket.max_samples_per_second : 0;
    const hostile::AdversarySettings settings{
        .misbehaviour = *misbehaviour,
        .max_samples_per_second = figure != 0 ? figure : RoundRules{}.max_samples_per_second,
        .elements = formats::element_count(run),
        .random_seed = unpredictable_seed(),
        .intensity = arguments.intensity};
    log_info("hostile on purpose: {}", name_of(*misbehaviour));
    return std::make_unique<test::HostileInterposer>(settings, options.key);
}

void add_commands(CLI::App& app, platform::StopSignals& signals) {
    const auto arguments = std::make_shared<HostileArguments>();
    CLI::App& join = tool::add_join_command(
        app, signals, [arguments](const formats::RunFile& run, const tool::StayOptions& options) {
            return make_adversary(*arguments, run, options);
        });
    join.add_option("--misbehave", arguments->misbehaviour, "Break the protocol in this way")
        ->check(CLI::IsMember(misbehaviours()))
        ->excludes("--backbone");
    join.add_option("--intensity", arguments->intensity,
                    "With --misbehave: floods send so many times as much")
        ->check(CLI::Range(1, kMaxIntensity))
        ->capture_default_str()
        ->needs("--misbehave");
}

}  // namespace

int main(int count, char** words) {
    return tool::run_program({.name = "hostile_peer",
                              .purpose = "Join a DeDLOC@home swarm and break its protocol.",
                              .add_commands = add_commands},
                             count, words);
}
