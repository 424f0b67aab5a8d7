// Cost of coordination as a swarm grows: simulated fleets of 16 to 1,000 peers with unequal home
// links, a third of them outbound-only, a few aggregators, and a backbone with 100 Mbit/s that
// coordinates. Prints, per step, the coordinator's and an ordinary member's messages, bytes and
// processor time, and the time of the round beyond computing and moving data. Asserts nothing.
//
//     swarm_bench [--leaving] [--elements N] [--codec C] [--steps N] [--notes] [peers...]
//
// With --leaving, a trainer's machine is gone every 14 s; in each measured step the first one goes
// once it has sent a first chunk: the round waits for it, and is amended. With --elements the
// vectors have the size of a real model. All peers of the process then share the memory of their
// vectors (shared_zeros.hpp), but not that of frames: a thousand peers with 18 M elements in fp16
// need 40 GB, most of it zeros, which compressed swap makes small. C is fp16, which is used without
// --codec, or int8. Measures three steps without --steps. The error stream tells when each step
// ends, and with --notes what the coordinator notes and when (virtual time).
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/shared_zeros.hpp"
#include "tests/bench/swarm_meter.hpp"
#include "tests/simulation/test_world.hpp"
#include "tests/simulation/trace.hpp"

namespace {

using namespace dedloc;
using namespace dedloc::bench;
using simulation::NodeId;
using simulation::Profile;
using simulation::TestWorld;
using std::chrono::duration;

/// Elements of the vector without --elements. Few, so that a thousand peers are simulated within
/// minutes; only the data traffic depends on it, not the control traffic.
constexpr std::uint64_t kFewElements = kPageElements;
constexpr std::uint64_t kMaxElements = 1'000'000'000;
constexpr Duration kComputing = std::chrono::seconds{8};
constexpr Duration kApplying = std::chrono::milliseconds{200};
constexpr std::uint64_t kMicroBatch = 4;
constexpr Duration kMaxWait = std::chrono::minutes{30};
constexpr Duration kLinking = std::chrono::minutes{1};  ///< time to link, before the run goes on
constexpr Duration kBetweenLeavers = std::chrono::seconds{14};

struct Choice {
    std::uint64_t elements = kFewElements;
    Codec codec = Codec::kFp16;
    std::size_t steps = 3;  ///< to measure
    bool is_leaving = false;
    bool tells_notes = false;
    std::vector<std::size_t> fleets;
};

struct Host {
    Role role;
    Profile profile;
};

Profile with_latency(double up, double down, Random& random) {
    Profile profile = Profile::with_mbit(up, down);
    profile.connection.latency = std::chrono::milliseconds{5 + random.below(30)};
    profile.connection.jitter = std::chrono::milliseconds{2};
    profile.apply_time = kApplying;
    profile.checkpoint_every = 0;
    profile.holds_first_state = true;
    return profile;
}

std::vector<Host> fleet_of(std::size_t peers) {
    Random random{peers};
    std::vector<Host> hosts{{Role::kBackbone, with_latency(100, 100, random)}};
    while (hosts.size() < peers) {
        const std::size_t k = hosts.size();
        if (k % 64 == 1) {
            Profile profile = with_latency(1'000, 1'000, random);
            profile.receives = false;
            hosts.push_back({Role::kAggregator, profile});
            continue;
        }
        Profile profile = k % 4 == 0   ? with_latency(200, 200, random)
                          : k % 4 == 1 ? with_latency(10, 50, random)
                                       : with_latency(20, 100, random);
        profile.micro_batch = kMicroBatch;
        profile.micro_batch_time = std::chrono::milliseconds{1'000 + random.below(2'000)};
        hosts.push_back({Role::kTrainer, k % 3 == 2 ? profile.outbound_only() : profile});
    }
    return hosts;
}

/// The target batch: as many samples as the fleet computes in kComputing.
Samples target_of(const std::vector<Host>& hosts) {
    double rate = 0;
    for (const Host& host : hosts) {
        if (host.role != Role::kTrainer) continue;
        rate += static_cast<double>(host.profile.micro_batch) /
                duration<double>(host.profile.micro_batch_time).count();
    }
    return Samples{static_cast<std::uint64_t>(rate * duration<double>(kComputing).count())};
}

void start(TestWorld& world, const Host& host) {
    switch (host.role) {
        case Role::kBackbone:
            world.add_backbone(host.profile);
            return;
        case Role::kAggregator:
            world.add_aggregator(host.profile);
            return;
        case Role::kTrainer:
            world.add_trainer(host.profile);
            return;
    }
}

/// A trainer at home that can be dialled, so that it reduces as well.
NodeId ordinary(const std::vector<Host>& hosts) {
    NodeId best = 1;
    for (NodeId k = 1; k < hosts.size(); ++k) {
        const auto& connection = hosts[k].profile.connection;
        const bool fits = hosts[k].role == Role::kTrainer && !connection.is_outbound_only &&
                          connection.download_bytes_per_second == 100 * 125'000;
        if (fits) best = k;
    }
    return best;
}

struct Played {
    std::vector<Step> steps;  ///< the measured steps, with all peers as members
    NodeId member = 0;
    std::size_t left = 0;        ///< trainers that left in these steps
    double warm_up_seconds = 0;  ///< virtual time
    double wall_seconds = 0;
};

/// The trainer that leaves in the k-th measured step; another one each time.
NodeId leaver(const std::vector<Host>& hosts, NodeId member, std::size_t k) {
    NodeId node = 5;
    for (std::size_t seen = 0;; ++node) {
        const bool is_trainer = hosts[node].role == Role::kTrainer && node != member;
        if (is_trainer && seen++ == k) return node;
    }
}

simulation::TestWorldOptions options_for(const Choice& choice, const std::vector<Host>& hosts,
                                         simulation::Observer& observer) {
    simulation::TestWorldOptions options;
    options.rules.elements = choice.elements;
    options.rules.codec = choice.codec;
    options.rules.target_batch = target_of(hosts);
    options.rules.last_step = StepIndex{1'000};
    options.rules.chooses_trainers = false;  // all peers are members of each round
    options.computes_averages = false;
    options.proves_links = true;
    options.checks_invariants = false;
    options.checks_bytes_queued = false;
    // Fewer links than between real peers, because a thousand peers share one core here; the
    // coordinator and the reducers are still linked with all peers.
    options.directory_answer = 8;
    options.directory_interval = std::chrono::seconds{20};
    options.observer = &observer;
    return options;
}

/// Plays until the meter has this number of steps, within kMaxWait. If trainers leave, `leave`
/// ends one every 14 s.
bool play_step(TestWorld& world, const Meter& meter, std::size_t count,
               const std::function<void()>& leave) {
    const TimePoint end = world.now() + kMaxWait;
    while (!world.run_until([&] { return meter.steps().size() >= count; }, kBetweenLeavers)) {
        if (world.now() >= end) return false;
        leave();
    }
    return true;
}

Played play(std::size_t peers, const Choice& choice) {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<Host> hosts = fleet_of(peers);
    const NodeId member = ordinary(hosts);
    std::vector<simulation::Connection> links;
    for (const Host& host : hosts) links.push_back(host.profile.connection);
    Meter meter{{0, member}, links, choice.tells_notes};
    TestWorld world{peers, options_for(choice, hosts, meter)};
    for (const Host& host : hosts) start(world, host);
    world.set_paused(true);
    world.run_for(kLinking);
    world.set_paused(false);

    Played played{.steps = {}, .member = member};
    const auto is_full = [&] {
        return !meter.steps().empty() && meter.steps().back().members == peers;
    };
    if (!world.run_until(is_full, kMaxWait)) return played;
    played.warm_up_seconds = duration<double>(world.now().time_since_epoch()).count();
    const std::size_t first = meter.steps().size();
    std::size_t left = 0;
    const auto leave = [&] {
        if (choice.is_leaving) {
            world.crash(leaver(hosts, member, left++), simulation::Exit::kSilent);
        }
    };
    const auto wall_seconds = [&] {
        return duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    const auto tell = [&](std::size_t done) {
        std::fprintf(stderr, "%zu peers: step %zu of %zu after %.0f s\n", peers, done, choice.steps,
                     wall_seconds());
    };
    tell(0);
    for (std::size_t k = 0; k < choice.steps; ++k) {
        if (choice.is_leaving) {
            world.kill(leaver(hosts, member, left++), simulation::Point::kFirstScatterSent,
                       world.checkers().newest_step(), simulation::Exit::kSilent);
        }
        if (!play_step(world, meter, first + k + 1, leave)) return played;
        tell(k + 1);
    }
    world.run_for(std::chrono::seconds{2});
    played.steps = {meter.steps().begin() + static_cast<std::ptrdiff_t>(first),
                    meter.steps().begin() + static_cast<std::ptrdiff_t>(first + choice.steps)};
    played.left = left;
    played.wall_seconds = wall_seconds();
    return played;
}

Tally total(const Played& played, NodeId node) {
    Tally tally;
    for (const Step& step : played.steps) {
        if (step.tallies.contains(node)) tally += step.tallies.at(node);
    }
    return tally;
}

/// Prints means of `steps` steps.
void print_counts(const char* what, const Count& out, const Count& in, double cpu, double steps) {
    const auto frames = [&](const Count& count) {
        return static_cast<double>(count.frames) / steps;
    };
    const auto megabytes = [&](const Count& count) {
        return static_cast<double>(count.bytes) * 1e-6 / steps;
    };
    std::printf("    %-13s %8.0f out %9.3f MB %8.0f in %9.3f MB", what, frames(out), megabytes(out),
                frames(in), megabytes(in));
    if (cpu > 0) std::printf("   CPU %7.4f s", cpu / steps);
    std::printf("\n");
}

void print_tally(const char* who, const Tally& tally, std::size_t count) {
    const auto steps = static_cast<double>(count);
    std::printf("  %s, a step: CPU %.4f s in %.0f events, the longest %.4f s\n", who,
                tally.cpu_seconds / steps, static_cast<double>(tally.events) / steps,
                tally.longest_call_seconds);
    for (const bool data : {false, true}) {
        print_counts(data ? "data" : "control", tally.sum(tally.sent, data),
                     tally.sum(tally.received, data), 0, steps);
        for (std::size_t k = 0; k < kKinds; ++k) {
            const bool has_some = tally.sent[k].frames + tally.received[k].frames > 0;
            if (is_data(k) != data || !has_some) continue;
            print_counts((std::string{"  "} + simulation::name_of_body(k)).c_str(), tally.sent[k],
                         tally.received[k], tally.cpu_of_received[k], steps);
        }
    }
}

void print(std::size_t peers, const Played& played, std::size_t steps) {
    if (played.steps.empty()) {
        std::printf("\n%zu peers did not finish %zu steps with all of them as members\n", peers,
                    steps);
        return;
    }
    std::printf("\n%zu peers, %zu reducers, %zu left (all in after %.0f s; played in %.0f s)\n",
                peers, played.steps.back().reducers, played.left, played.warm_up_seconds,
                played.wall_seconds);
    for (const Step& step : played.steps) {
        const double call = seconds_of(step.called - *step.call_sent);
        const double round = seconds_of(step.reached - step.frozen - kApplying);
        const double coordination = call + round - seconds_of(step.data);
        std::printf(
            "  step %llu: %zu members; Call to all %.3f s, plan at all after %.3f s, "
            "last freeze to last commit %.3f s, data alone %.3f s; "
            "coordination %.3f s + CPU %.3f s\n",
            static_cast<unsigned long long>(step.step.value()), step.members, call,
            seconds_of(step.planned - step.frozen), round, seconds_of(step.data), coordination,
            step.tallies.at(0).cpu_seconds);
    }
    print_tally("coordinator", total(played, 0), played.steps.size());
    print_tally("member", total(played, played.member), played.steps.size());
}

/// Reads a number from `min` to `max`, or ends the program with a sentence.
std::uint64_t number(const char* text, std::uint64_t min, std::uint64_t max, const char* what) {
    std::uint64_t value = 0;
    const char* end = text + std::strlen(text);
    const auto [rest, error] = std::from_chars(text, end, value);
    if (error == std::errc{} && rest == end && value >= min && value <= max) return value;
    std::fprintf(stderr, "swarm_bench: '%s' is no number of %s from %llu to %llu\n", text, what,
                 static_cast<unsigned long long>(min), static_cast<unsigned long long>(max));
    std::exit(2);
}

/// Reads a codec, or ends the program with a sentence.
Codec codec(std::string_view name) {
    for (const Codec codec : {Codec::kFp16, Codec::kInt8}) {
        if (name == name_of(codec)) return codec;
    }
    std::fprintf(stderr, "swarm_bench: there is no codec '%.*s' here, only fp16 and int8\n",
                 static_cast<int>(name.size()), name.data());
    std::exit(2);
}

Choice choice_of(std::span<char*> arguments) {
    Choice choice;
    for (std::size_t k = 0; k < arguments.size(); ++k) {
        const std::string_view argument = arguments[k];
        if (argument == "--leaving") {
            choice.is_leaving = true;
        } else if (argument == "--notes") {
            choice.tells_notes = true;
        } else if (argument == "--elements" && k + 1 < arguments.size()) {
            const std::uint64_t wanted =
                number(arguments[++k], kFewElements, kMaxElements, "elements");
            choice.elements = (wanted + kPageElements - 1) / kPageElements * kPageElements;
        } else if (argument == "--codec" && k + 1 < arguments.size()) {
            choice.codec = codec(arguments[++k]);
        } else if (argument == "--steps" && k + 1 < arguments.size()) {
            choice.steps = number(arguments[++k], 1, 1'000, "steps");
        } else {
            choice.fleets.push_back(number(arguments[k], 4, 1'024, "peers"));
        }
    }
    if (choice.fleets.empty()) choice.fleets = {16, 64, 256, 1'000};
    return choice;
}

}  // namespace

int main(int argc, char** argv) {
    const Choice choice = choice_of(std::span{argv + 1, static_cast<std::size_t>(argc - 1)});
    const bool is_large = choice.elements > kFewElements;
    if (is_large) share_zeros(choice.elements);
    std::printf("vectors of %llu elements in %s%s\n",
                static_cast<unsigned long long>(choice.elements), name_of(choice.codec),
                is_large ? "" : ": bytes of data are not those of a real model");
    for (const std::size_t peers : choice.fleets) {
        print(peers, play(peers, choice), choice.steps);
        std::fflush(stdout);
    }
    if (is_large && !holds_zeros()) {
        std::fprintf(stderr, "swarm_bench: a vector was not zero where its memory is shared\n");
        return 1;
    }
    return 0;
}
