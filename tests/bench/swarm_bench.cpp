// Cost of coordination as a swarm grows: simulated fleets of 16 to 1,000 peers with unequal home
// links, a third of them outbound-only, a few aggregators, and a backbone with 100 Mbit/s that
// coordinates. Prints, per step, the coordinator's and an ordinary member's messages, bytes and
// processor time, and the time of the round beyond computing and moving data. Asserts nothing.
//
//     swarm_bench [--leaving] [peers...]
//
// With --leaving, in each measured step one trainer's machine is gone once it has sent a first
// chunk, as if one of them left every 14 s: the round waits for it, and is amended.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "peer/simulation/trace.hpp"
#include "peer/simulation/world.hpp"
#include "tests/bench/swarm_meter.hpp"

namespace {

using namespace dedloc;
using namespace dedloc::bench;
using simulation::NodeId;
using simulation::Profile;
using simulation::World;
using std::chrono::duration;

/// Elements of the vector. Few, so that a thousand peers can be simulated; only the data traffic
/// depends on it, not the control traffic.
constexpr std::uint64_t kElements = 1'024;
constexpr std::size_t kSteps = 3;
constexpr Duration kComputing = std::chrono::seconds{8};
constexpr Duration kApplying = std::chrono::milliseconds{200};
constexpr std::uint64_t kMicroBatch = 4;
constexpr Duration kMaxWait = std::chrono::minutes{30};

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

void start(World& world, const Host& host) {
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

Played play(std::size_t peers, bool is_leaving) {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<Host> hosts = fleet_of(peers);
    const NodeId member = ordinary(hosts);
    std::vector<simulation::Connection> links;
    for (const Host& host : hosts) links.push_back(host.profile.connection);
    Meter meter{{0, member}, links};

    simulation::WorldOptions options;
    options.rules.elements = kElements;
    options.rules.target_batch = target_of(hosts);
    options.rules.last_step = StepIndex{1'000};
    options.computes_averages = false;
    options.proves_links = true;
    options.checks_invariants = false;
    options.checks_bytes_queued = false;
    // Fewer links than between real peers, because a thousand peers share one core here; the
    // coordinator and the reducers are still linked with all peers.
    options.directory_answer = 8;
    options.directory_interval = std::chrono::seconds{20};
    options.observer = &meter;
    World world{peers, options};
    for (const Host& host : hosts) start(world, host);

    Played played{.steps = {}, .member = member};
    const auto is_full = [&] {
        return !meter.steps().empty() && meter.steps().back().members == peers;
    };
    if (!world.run_until(is_full, kMaxWait)) return played;
    played.warm_up_seconds = duration<double>(world.now().time_since_epoch()).count();
    const std::size_t first = meter.steps().size();
    for (std::size_t k = 0; k < kSteps; ++k) {
        const auto has_played = [&] { return meter.steps().size() > first + k; };
        if (is_leaving) {
            world.kill(leaver(hosts, member, k), simulation::Point::kFirstScatterSent,
                       world.checkers().newest_step(), simulation::Exit::kSilent);
        }
        if (!world.run_until(has_played, kMaxWait)) return played;
    }
    world.run_for(std::chrono::seconds{2});
    played.steps = {meter.steps().begin() + static_cast<std::ptrdiff_t>(first),
                    meter.steps().begin() + static_cast<std::ptrdiff_t>(first + kSteps)};
    played.wall_seconds = duration<double>(std::chrono::steady_clock::now() - begin).count();
    return played;
}

double seconds(Duration time) {
    return duration<double>(time).count();
}

double megabytes(const Count& count) {
    return static_cast<double>(count.bytes) * 1e-6 / static_cast<double>(kSteps);
}

double frames(const Count& count) {
    return static_cast<double>(count.frames) / static_cast<double>(kSteps);
}

Tally total(const Played& played, NodeId node) {
    Tally tally;
    for (const Step& step : played.steps) {
        if (step.tallies.contains(node)) tally += step.tallies.at(node);
    }
    return tally;
}

void print_counts(const char* what, const Count& out, const Count& in, double cpu) {
    std::printf("    %-13s %8.0f out %9.3f MB %8.0f in %9.3f MB", what, frames(out), megabytes(out),
                frames(in), megabytes(in));
    if (cpu > 0) std::printf("   CPU %7.4f s", cpu / static_cast<double>(kSteps));
    std::printf("\n");
}

void print_tally(const char* who, const Tally& tally) {
    std::printf("  %s, a step: CPU %.4f s in %.0f events, the longest %.4f s\n", who,
                tally.cpu_seconds / static_cast<double>(kSteps),
                static_cast<double>(tally.events) / static_cast<double>(kSteps),
                tally.longest_call_seconds);
    for (const bool data : {false, true}) {
        print_counts(data ? "data" : "control", tally.sum(tally.sent, data),
                     tally.sum(tally.received, data), 0);
        for (std::size_t k = 0; k < kKinds; ++k) {
            const bool has_some = tally.sent[k].frames + tally.received[k].frames > 0;
            if (is_data(k) != data || !has_some) continue;
            print_counts((std::string{"  "} + simulation::name_of_body(k)).c_str(), tally.sent[k],
                         tally.received[k], tally.cpu_of_received[k]);
        }
    }
}

void print(std::size_t peers, const Played& played) {
    if (played.steps.empty()) {
        std::printf("\n%zu peers did not finish %zu steps with all of them as members\n", peers,
                    kSteps);
        return;
    }
    std::printf("\n%zu peers, %zu reducers (all in after %.0f s; played in %.0f s)\n", peers,
                played.steps.back().reducers, played.warm_up_seconds, played.wall_seconds);
    for (const Step& step : played.steps) {
        const double call = seconds(step.called - *step.call_sent);
        const double round = seconds(step.reached - step.frozen - kApplying);
        const double coordination = call + round - seconds(step.data);
        std::printf(
            "  step %llu: %zu members; Call to all %.3f s, plan at all after %.3f s, "
            "last freeze to last commit %.3f s, data alone %.3f s; "
            "coordination %.3f s + CPU %.3f s\n",
            static_cast<unsigned long long>(step.step.value()), step.members, call,
            seconds(step.planned - step.frozen), round, seconds(step.data), coordination,
            step.tallies.at(0).cpu_seconds);
    }
    print_tally("coordinator", total(played, 0));
    print_tally("member", total(played, played.member));
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::size_t> fleets{16, 64, 256, 1'000};
    std::vector<std::size_t> chosen;
    bool is_leaving = false;
    for (int k = 1; k < argc; ++k) {
        if (std::strcmp(argv[k], "--leaving") == 0) {
            is_leaving = true;
            continue;
        }
        std::size_t peers = 0;
        const char* end = argv[k] + std::strlen(argv[k]);
        const auto [rest, error] = std::from_chars(argv[k], end, peers);
        if (error != std::errc{} || rest != end || peers < 4 || peers > 1'024) {
            std::fprintf(stderr, "swarm_bench: '%s' is no number of peers from 4 to 1024\n",
                         argv[k]);
            return 2;
        }
        chosen.push_back(peers);
    }
    if (!chosen.empty()) fleets = chosen;
    std::printf("vectors of %llu elements: bytes of data are not those of a real model\n",
                static_cast<unsigned long long>(kElements));
    for (const std::size_t peers : fleets) {
        print(peers, play(peers, is_leaving));
        std::fflush(stdout);
    }
    return 0;
}
